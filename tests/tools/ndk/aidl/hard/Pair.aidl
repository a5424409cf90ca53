// SPDX-License-Identifier: Apache-2.0
package hard;

parcelable Pair<A, B> {
    int first;
    String second;
}
