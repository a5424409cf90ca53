// SPDX-License-Identifier: Apache-2.0
package anybinder.demo;

/** The service of `anybinder demo`: the smallest call there is, and a file each way. */
interface IAddInts {
    int add(int a, int b);

    /** Reads the caller's file to its end. */
    String readFile(in ParcelFileDescriptor file);

    /** Hands out a file that holds the text. */
    ParcelFileDescriptor openText(String text);
}
