// SPDX-License-Identifier: Apache-2.0
package anybinder.test;

/** An object of the client that services call back. */
interface ICallback {
    int onValue(int value);
    oneway void onEvent(int value);
    int ownerPid();
}
