// SPDX-License-Identifier: Apache-2.0
package anybinder.test;

/** A parcelable whose content the interface does not name. */
parcelable Envelope {
    int before;
    ParcelableHolder content;
    int after;
}
