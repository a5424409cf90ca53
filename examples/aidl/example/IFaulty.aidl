// SPDX-License-Identifier: Apache-2.0
package example;

/** What the services of `faulty` offer. */
interface IFaulty {
    /** Returns the number. How long that takes depends on the service. */
    int work(int number);

    /** Handled one by one, like all one-way calls of an object. */
    oneway void note(int number);

    /** Gives an object. */
    void give(IBinder object);
}
