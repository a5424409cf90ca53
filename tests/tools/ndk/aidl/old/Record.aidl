// SPDX-License-Identifier: Apache-2.0
package old;

parcelable Record {
    int number = 5;
    String text = "text";
    boolean flag;
    char unit;
    byte small;
    long large;
    double[] values;
    String[] texts;
    @nullable IBinder binder;
}
