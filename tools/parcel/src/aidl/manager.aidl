// SPDX-License-Identifier: Apache-2.0
// The service manager of Android, as its parcels are: the methods of all levels, in the order of
// their codes. Of checkService the reply is that of the levels where it is a binder.
package android.os;

interface IServiceManager {
    @nullable IBinder getService(String name);
    Service getService2(String name);
    @nullable IBinder checkService(String name);
    Service checkService2(String name);
    void addService(String name, IBinder service, boolean allowIsolated, int dumpPriority);
    String[] listServices(int dumpPriority);
    void registerForNotifications(String name, IBinder callback);
    void unregisterForNotifications(String name, IBinder callback);
    boolean isDeclared(String name);
    String[] getDeclaredInstances(String interfaceName);
    @nullable String updatableViaApex(String name);
    String[] getUpdatableNames(String apexName);
    @nullable ConnectionInfo getConnectionInfo(String name);
    void registerClientCallback(String name, IBinder service, IBinder callback);
    void tryUnregisterService(String name, IBinder service);
    ServiceDebugInfo[] getServiceDebugInfo();
    boolean checkServiceAccess(in CallerContext caller, String name, String permission);
}

union Service {
    ServiceWithMetadata serviceWithMetadata;
    @nullable IBinder accessor;
}

parcelable ServiceWithMetadata {
    @nullable IBinder service;
    boolean isLazyService;
}

parcelable ConnectionInfo {
    String ipAddress;
    int port;
}

parcelable ServiceDebugInfo {
    String name;
    int debugPid;
}

parcelable CallerContext {
    String sid;
    int debugPid;
    int uid;
}
