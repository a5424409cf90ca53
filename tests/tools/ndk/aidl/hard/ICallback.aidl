// SPDX-License-Identifier: Apache-2.0
package hard;

interface ICallback {
    void called(int number);
    oneway void notified(int number);
}
