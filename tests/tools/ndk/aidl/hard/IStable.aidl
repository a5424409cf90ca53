// SPDX-License-Identifier: Apache-2.0
package hard;

/** Compiled as version 3, with a hash and names of its methods. */
@VintfStability
interface IStable {
    int twice(int number);
}
