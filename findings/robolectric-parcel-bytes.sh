#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Finding: the bytes of a Parcel under Robolectric are a stream of Java's serialization.
#
# Version: Robolectric 4.14.1 (Maven: org.robolectric:shadows-framework). Needs java 17 and mvn.
#
# Tests that run on a computer without Android have Robolectric's Parcel, so that its marshall()
# offers itself as what a parcel looks like on the wire.
# One would have guessed: an int takes the four bytes that the driver would carry, and marshall()
# returns as many bytes as dataSize() says.
# Behaviour: each value is an object of Java with the size that it would have had. One int has the
# size 4 and 91 bytes, which begin with the mark of java.io.ObjectOutputStream and name
# java.lang.Integer. No recorded parcel of a device can be unmarshalled, and none compared. What is
# called here is what Parcel.writeInt(), dataSize() and marshall() call in such a test.
# Output seen: dataSize 4, marshalled 91, aced0005...java.lang.Integer
set -eu
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
dependency()
{
	echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version>"
	echo "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
	echo "</exclusions></dependency>"
}
{
	echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
	echo '<groupId>finding</groupId><artifactId>finding</artifactId><version>1</version>'
	echo '<dependencies>'
	dependency org.robolectric shadows-framework 4.14.1
	dependency org.robolectric resources 4.14.1
	dependency com.google.guava guava 33.3.1-jre
	dependency com.google.android android 4.1.1.4
	echo '</dependencies></project>'
} >pom.xml
mvn -q -B -Dmaven.repo.local="$work/repository" \
	org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
	-DoutputDirectory=jars >messages 2>&1 || { cat messages >&2; exit 1; }
cat >Marshal.java <<'JAVA'
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;

class Marshal {
	static Object call(String name, Class<?>[] types, Object... arguments) throws Exception {
		Method method = Class.forName("org.robolectric.shadows.ShadowParcel")
			.getDeclaredMethod(name, types);
		method.setAccessible(true);
		return method.invoke(null, arguments);
	}

	public static void main(String[] arguments) throws Exception {
		Object parcel = call("nativeCreate", new Class<?>[0]);
		Class<?>[] of = { long.class };
		call("nativeWriteInt", new Class<?>[] { long.class, int.class }, parcel, 1);
		byte[] bytes = (byte[]) call("nativeMarshall", of, parcel);
		String text = new String(bytes, StandardCharsets.ISO_8859_1);
		System.out.printf("dataSize %d, marshalled %d, %02x%02x%02x%02x...%s\n",
			call("nativeDataSize", of, parcel), bytes.length, bytes[0], bytes[1],
			bytes[2], bytes[3],
			text.contains("java.lang.Integer") ? "java.lang.Integer" : "");
	}
}
JAVA
seen=$(java -cp 'jars/*' Marshal.java)
echo "$seen"
[ "$seen" = "dataSize 4, marshalled 91, aced0005...java.lang.Integer" ]
