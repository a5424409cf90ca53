// SPDX-License-Identifier: Apache-2.0
package hard;

import hard.Colour;

union Choice {
    int number = 7;
    String text;
    Colour colour;
    int[] list;
    @nullable Choice[] more;
    IBinder binder;
}
