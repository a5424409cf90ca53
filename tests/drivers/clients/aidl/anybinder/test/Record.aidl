// SPDX-License-Identifier: Apache-2.0
package anybinder.test;

import anybinder.test.ICallback;

/** A parcelable with a field of each kind. */
parcelable Record {
    int id;
    long big;
    double ratio;
    boolean flag;
    @utf8InCpp String name;
    byte[] blob;
    @utf8InCpp List<String> words;
    @nullable ICallback object;
    @nullable ParcelFileDescriptor file;
}
