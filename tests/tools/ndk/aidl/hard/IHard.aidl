// SPDX-License-Identifier: Apache-2.0
package hard;

import hard.Choice;
import hard.Colour;
import hard.Everything;
import hard.ICallback;
import hard.Pair;

/** Each method gives back what it is given: every kind of value that an interface can have. */
interface IHard {
    const int LIMIT = 1 << 10;
    const String NAME = "hard";

    boolean echoBoolean(boolean v);
    byte echoByte(byte v);
    char echoChar(char v);
    int echoInt(int v);
    long echoLong(long v);
    float echoFloat(float v);
    double echoDouble(double v);
    String echoString(String v);
    @nullable String echoNullableString(@nullable String v);
    @utf8InCpp String echoUtf8(@utf8InCpp String v);
    Colour echoColour(Colour v);
    Colour[] echoColours(in Colour[] v);
    /** Twice is given back twice as long; more gets a 4 behind it. */
    int[] echoInts(in int[] v, out int[] twice, inout int[] more);
    byte[] echoBytes(in byte[] v);
    char[] echoChars(in char[] v);
    boolean[] echoBooleans(in boolean[] v);
    long[] echoLongs(in long[] v);
    float[] echoFloats(in float[] v);
    double[] echoDoubles(in double[] v);
    String[] echoStrings(in String[] v);
    @nullable int[] echoNullableInts(in @nullable int[] v);
    @nullable String[] echoNullableStrings(in @nullable String[] v);
    List<String> echoList(in List<String> v);
    @nullable List<Everything> echoEverythings(in @nullable List<Everything> v);
    Everything echoEverything(in Everything v, out Everything copy, inout Everything both);
    @nullable Everything echoNullableEverything(in @nullable Everything v);
    Choice echoChoice(in Choice v);
    Choice[] echoChoices(in Choice[] v);
    int[2][3] echoFixed(in int[2][3] v);
    ParcelFileDescriptor echoFile(in ParcelFileDescriptor v);
    @nullable ParcelFileDescriptor echoNullableFile(in @nullable ParcelFileDescriptor v);
    ParcelFileDescriptor[] echoFiles(in ParcelFileDescriptor[] v);
    IBinder echoBinder(IBinder v);
    @nullable IBinder echoNullableBinder(@nullable IBinder v);
    IBinder[] echoBinders(in IBinder[] v);
    ICallback echoCallback(ICallback v);
    ICallback[] echoCallbacks(in ICallback[] v);
    Pair<int, String> echoPair(in Pair<int, String> v);

    /** Calls back before it returns. */
    void call(ICallback callback, int number);
    oneway void later(ICallback callback, int number);
    /** Raises the exception; -8 has the number, and 0 is none. */
    void fail(int exception, int specific, String message);

    interface INested {
        enum Kind { A, B }
        Kind other(Kind k);
    }
    INested nested();

    parcelable Inner {
        int x;
    }
    Inner echoInner(in Inner i);
}
