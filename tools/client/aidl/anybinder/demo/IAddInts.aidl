// SPDX-License-Identifier: Apache-2.0
package anybinder.demo;

/** The service of `anybinder demo`: a minimal call, and a file in each direction. */
interface IAddInts {
    int add(int a, int b);

    /** Reads the caller's file to its end. */
    String readFile(in ParcelFileDescriptor file);

    /** Returns a file that holds the text. */
    ParcelFileDescriptor openText(String text);
}
