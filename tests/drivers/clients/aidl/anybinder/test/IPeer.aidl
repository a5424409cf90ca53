// SPDX-License-Identifier: Apache-2.0
package anybinder.test;

import anybinder.test.Envelope;
import anybinder.test.ICallback;
import anybinder.test.Record;

/** What a test service does. */
interface IPeer {
    int add(int a, int b);
    String echo(String text);
    byte[] reverse(in byte[] data);
    byte[] fill(int size, byte value);

    /** Calls the callback while the caller waits. */
    int callBack(ICallback callback, int value);
    /** Calls the callback `times` times from another thread, after the reply. */
    oneway void callBackLater(ICallback callback, int times);
    /** Bounces between `here`, which is called, and `there`, until depth is 0; counts the hops. */
    int bounce(IPeer here, IPeer there, int depth);

    oneway void post(int value);
    int[] posted();
    oneway void postSlowly(int delay_ms);
    /** Posts the value once the gate is open. */
    oneway void postAtGate(int value);
    void openGate();

    IBinder echoBinder(IBinder binder);
    void hold(ICallback callback);
    @nullable ICallback held();
    void release();
    /** How many held callbacks died. */
    int deaths();
    /** A new object of this process; counts up with each call. */
    ICallback makeCounter();

    Record echoRecord(in Record record);

    String readFile(in ParcelFileDescriptor file);
    ParcelFileDescriptor openText(String text);
    String readFiles(in ParcelFileDescriptor[] files);
    ParcelFileDescriptor[] openTexts(in String[] texts);
    int openFiles();

    /** Throws the exception with that index in the list of peer.rs. */
    void throwException(int index, String message);
    void throwServiceSpecific(int code);
    void fail(int status);

    int pid();
    int callingPid();
    int callingUid();
    /** Sleeps and returns the highest number of callers inside at once. */
    int maxConcurrent(int sleep_ms);
    void exitNow(int code);

    /** An array of objects, some of them null. */
    @nullable ICallback[] echoCallbacks(in @nullable ICallback[] callbacks);
    void copyRecord(in Record from, out Record to);
    /** Opens an envelope with a Record and makes a new one. */
    Envelope echoEnvelope(in Envelope envelope);
    /** Has another thread of this process add by a call to `there`, and waits for it. */
    int addByThread(IPeer there, int a, int b);
}
