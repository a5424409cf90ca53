// SPDX-License-Identifier: Apache-2.0
package anybinder.bench;

interface IEcho {
    byte[] call(in byte[] data);
}
