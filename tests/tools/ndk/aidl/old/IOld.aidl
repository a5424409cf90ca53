// SPDX-License-Identifier: Apache-2.0
package old;

import old.Record;

/** What the compiler of Android 10 knows for the NDK: no unions, enums, lists, nor nested types. */
interface IOld {
    int add(int a, int b);
    @nullable String maybe(@nullable String text);
    int[] ints(in int[] v, inout int[] more);
    @nullable String[] texts(in @nullable String[] texts);
    ParcelFileDescriptor file(in ParcelFileDescriptor file);
    IBinder binder(IBinder binder);
    Record record(in Record record);
    /** Calls `other.add` before it returns. */
    int call(IOld other, int a, int b);
    oneway void later(IOld other);
}
