// SPDX-License-Identifier: Apache-2.0
package hard;

@Backing(type="long")
enum Colour { RED = 1, GREEN = 2, BLUE = 1L << 40 }
