// SPDX-License-Identifier: Apache-2.0
package example;

/**
 * A board of notes. The methods get the transaction codes 1, 2, ... in the order in which they
 * are declared here; clients and services in any language agree on these and on the name
 * example.IBoard.
 */
interface IBoard {
    /** A client implements this in order to be called back. */
    interface IReader {
        oneway void onNote(String note);
    }

    /** Adds a note, and calls all readers. Returns how many notes there are. */
    int post(String note);

    /** Posts every line of an open file. Returns how many notes there are. */
    int postFile(in ParcelFileDescriptor file);

    /** Calls this reader for each note until its process ends. Returns how many readers there are. */
    int subscribe(IReader reader);

    int readers();

    /**
     * Adds up the bytes of a buffer, which may be far larger than a transaction: only its file
     * descriptor, of a memfd or of a DMA-BUF, is passed.
     */
    long sum(in ParcelFileDescriptor buffer);
}
