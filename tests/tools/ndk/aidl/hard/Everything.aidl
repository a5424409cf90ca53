// SPDX-License-Identifier: Apache-2.0
package hard;

import hard.Choice;
import hard.Colour;
import hard.ICallback;

/** Fields of every kind. */
parcelable Everything {
    boolean b = true;
    byte y = -5;
    char c = 'x';
    int i = 42;
    long l = 1L << 40;
    float f = 1.5f;
    double d = -2.25;
    String s = "text";
    @nullable String ns;
    Colour colour = Colour.GREEN;
    Colour[] colours = {Colour.RED, Colour.BLUE};
    int[] ints = {1, 2, 3};
    @nullable int[] nints;
    String[] strings = {"a", "b"};
    List<String> list;
    int[2][3] fixed;
    String[2] names;
    byte[] bytes;
    boolean[] booleans;
    @nullable ParcelFileDescriptor file;
    @nullable IBinder binder;
    @nullable ICallback callback;
    parcelable Deep {
        int depth;
        String name = "deep";
    }
    Deep deep;
    @nullable Deep maybe;
    Deep[] deeps;
    @nullable(heap=true) Everything next;
    Choice choice;
    ParcelableHolder holder;
}
