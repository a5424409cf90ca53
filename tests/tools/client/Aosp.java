// SPDX-License-Identifier: Apache-2.0
/*
 * Bundles, maps and lists through AOSP's own classes, in a plain Java machine.
 *
 * Aosp ANDROID_ALL_JAR LEVEL reads lines "KIND HEX" from its standard input: KIND is bundle, own (a
 * PersistableBundle), map or list, HEX a parcel with one as AIDL's compiler passes it. It prints a
 * line for each: the bytes that the classes of the jar write for what they have read, and what that
 * is, as JSON in the form of `anybinder call`.
 *
 * libbinder keeps the bytes of a Parcel.java. The loader here gives each native method of the jar's
 * classes a body, which calls the method of that name in Primitives, or returns nothing. All else
 * that the classes do with a bundle is their own.
 */
import android.os.BaseBundle;
import android.os.Bundle;
import android.os.IBinder;
import android.os.Parcel;
import android.os.ParcelFileDescriptor;
import android.os.PersistableBundle;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.jar.JarFile;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

public class Aosp {
	private static final String VALUES = "Aosp$Values";

	public static void main(String[] arguments) throws Exception {
		Class<?> values = new Loader(new JarFile(arguments[0])).loadClass(VALUES);
		Method answer = values.getMethod("answer", String.class, byte[].class);
		Primitives.hasStability = Integer.parseInt(arguments[1]) >= 30;
		Primitives.classes = values.getClassLoader();
		BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
		for (String line; (line = lines.readLine()) != null; ) {
			String[] words = line.split(" ");
			byte[] bytes = HexFormat.of().parseHex(words[1]);
			System.out.println(answer.invoke(null, words[0], bytes));
		}
	}

	private static class Loader extends ClassLoader {
		private final JarFile jar;

		Loader(JarFile jar) {
			super(Aosp.class.getClassLoader());
			this.jar = jar;
		}

		@Override
		protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
			Class<?> loaded = findLoadedClass(name);
			if (loaded != null)
				return loaded;
			try (InputStream bytes = open(name)) {
				if (bytes == null)
					return super.loadClass(name, resolve);
				byte[] made = bodies(bytes.readAllBytes());
				return defineClass(name, made, 0, made.length);
			} catch (IOException err) {
				throw new ClassNotFoundException(name, err);
			}
		}

		private InputStream open(String name) throws IOException {
			String path = name.replace('.', '/') + ".class";
			if (name.equals(VALUES))
				return getParent().getResourceAsStream(path);
			boolean isOurs = !name.matches("(java|javax|jdk|sun)\\..*") && jar.getEntry(path) != null;
			return isOurs ? jar.getInputStream(jar.getEntry(path)) : null;
		}
	}

	/* The class, for any Java from 17 on, its native methods with bodies. */
	private static byte[] bodies(byte[] given) {
		ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
		ClassReader reader = new ClassReader(given);
		// Marks files with their owners, in Android's own java.io.FileDescriptor.
		boolean isForFiles = reader.getClassName().equals("libcore/io/IoUtils");
		reader.accept(new ClassVisitor(Opcodes.ASM9, writer) {
			@Override
			public void visit(int version, int access, String name, String signature, String parent,
					String[] interfaces) {
				super.visit(Math.min(version, Opcodes.V17), access, name, signature, parent,
					interfaces);
			}

			@Override
			public MethodVisitor visitMethod(int access, String name, String of, String signature,
					String[] exceptions) {
				MethodVisitor body = super.visitMethod(access & ~Opcodes.ACC_NATIVE, name, of,
					signature, exceptions);
				if ((access & Opcodes.ACC_NATIVE) == 0 && !(isForFiles && name.equals("setFdOwner")))
					return body;
				write(body, (access & Opcodes.ACC_STATIC) != 0 ? 0 : 1, name, of);
				return null;
			}
		}, 0);
		return writer.toByteArray();
	}

	private static void write(MethodVisitor body, int slot, String name, String of) {
		Type result = Type.getReturnType(of);
		body.visitCode();
		Type given = Type.VOID_TYPE;
		for (Method one : Primitives.class.getMethods()) {
			if (!one.getName().equals(name))
				continue;
			for (Type type : Type.getArgumentTypes(of)) {
				body.visitVarInsn(type.getOpcode(Opcodes.ILOAD), slot);
				slot += type.getSize();
			}
			given = Type.getReturnType(one);
			body.visitMethodInsn(Opcodes.INVOKESTATIC, "Aosp$Primitives", name,
				Type.getMethodDescriptor(one), false);
		}
		if (given == Type.VOID_TYPE)
			nothing(body, result);
		else if (result == Type.VOID_TYPE)
			body.visitInsn(given.getSize() == 2 ? Opcodes.POP2 : Opcodes.POP);
		else if (result.getSort() >= Type.ARRAY)
			body.visitTypeInsn(Opcodes.CHECKCAST, result.getInternalName());
		body.visitInsn(result.getOpcode(Opcodes.IRETURN));
		body.visitMaxs(0, 0);
		body.visitEnd();
	}

	private static void nothing(MethodVisitor body, Type result) {
		switch (result.getSort()) {
		case Type.VOID: break;
		case Type.LONG: body.visitInsn(Opcodes.LCONST_0); break;
		case Type.FLOAT: body.visitInsn(Opcodes.FCONST_0); break;
		case Type.DOUBLE: body.visitInsn(Opcodes.DCONST_0); break;
		case Type.ARRAY: case Type.OBJECT: body.visitInsn(Opcodes.ACONST_NULL); break;
		default: body.visitInsn(Opcodes.ICONST_0);
		}
	}

	/*
	 * What Parcel.java asks of libbinder: values in little-endian words, texts and bytes padded to
	 * them, objects of 24 bytes. The names are those of Parcel's native methods; the parameters are
	 * a parcel, and what Parcel.java passes.
	 */
	public static class Primitives {
		private static final int OBJECT_SIZE = 24, FILE = 0x66642a85, BINDER = 0x73622a85;
		private static final List<Primitives> PARCELS = new ArrayList<>();
		/* Whether the stability follows a binder. */
		private static boolean hasStability;
		/* The classes of the jar. */
		private static ClassLoader classes;

		private ByteBuffer bytes = ByteBuffer.allocate(1 << 16).order(ByteOrder.LITTLE_ENDIAN);
		private int size;

		private static Primitives of(long parcel) {
			return PARCELS.get((int) parcel - 1);
		}

		/* The place of so many bytes, padded, behind what is there. */
		private ByteBuffer room(int count) {
			int at = bytes.position();
			bytes.position(at + (count + 3) / 4 * 4);
			size = Math.max(size, bytes.position());
			return bytes.duplicate().order(ByteOrder.LITTLE_ENDIAN).position(at);
		}

		/* The next bytes; zeros behind the end, as libbinder has it. */
		private ByteBuffer take(int count) {
			if (bytes.position() + count > size)
				return ByteBuffer.allocate(count);
			return room(count).slice().order(ByteOrder.LITTLE_ENDIAN);
		}

		public static long nativeCreate() {
			PARCELS.add(new Primitives());
			return PARCELS.size();
		}

		public static void nativeFreeBuffer(long parcel) {
			PARCELS.set((int) parcel - 1, new Primitives());
		}

		public static int nativeDataSize(long parcel) {
			return of(parcel).size;
		}

		public static int nativeDataAvail(long parcel) {
			return of(parcel).size - of(parcel).bytes.position();
		}

		public static int nativeDataPosition(long parcel) {
			return of(parcel).bytes.position();
		}

		public static void nativeSetDataPosition(long parcel, int position) {
			of(parcel).bytes.position(position);
		}

		public static void nativeSetDataSize(long parcel, int size) {
			of(parcel).size = size;
		}

		public static int nativeWriteInt(long parcel, int value) {
			of(parcel).room(4).putInt(value);
			return 0;
		}

		public static int nativeWriteLong(long parcel, long value) {
			of(parcel).room(8).putLong(value);
			return 0;
		}

		public static int nativeWriteFloat(long parcel, float value) {
			of(parcel).room(4).putFloat(value);
			return 0;
		}

		public static int nativeWriteDouble(long parcel, double value) {
			of(parcel).room(8).putDouble(value);
			return 0;
		}

		private static void text(long parcel, String text, int length, byte[] bytes, int end) {
			nativeWriteInt(parcel, text == null ? -1 : length);
			if (text != null)
				of(parcel).room(bytes.length + end).put(bytes);
		}

		public static void nativeWriteString8(long parcel, String text) {
			byte[] bytes = text == null ? null : text.getBytes(StandardCharsets.UTF_8);
			text(parcel, text, bytes == null ? 0 : bytes.length, bytes, 1);
		}

		public static void nativeWriteString16(long parcel, String text) {
			byte[] bytes = text == null ? null : text.getBytes(StandardCharsets.UTF_16LE);
			text(parcel, text, text == null ? 0 : text.length(), bytes, 2);
		}

		public static void nativeWriteString(long parcel, String text) {
			nativeWriteString16(parcel, text);
		}

		public static void nativeWriteByteArray(long parcel, byte[] bytes, int offset, int count) {
			nativeWriteInt(parcel, count);
			of(parcel).room(count).put(bytes, offset, count);
		}

		/* Writes a null, or one that stands for each object: no test asks which it was. */
		public static void nativeWriteStrongBinder(long parcel, Object binder) {
			of(parcel).room(OBJECT_SIZE).putInt(BINDER);
			if (hasStability)
				nativeWriteInt(parcel, 0);
		}

		public static void nativeWriteFileDescriptor(long parcel, FileDescriptor file) {
			of(parcel).room(OBJECT_SIZE).putInt(FILE);
		}

		public static int nativeReadInt(long parcel) {
			return of(parcel).take(4).getInt();
		}

		public static long nativeReadLong(long parcel) {
			return of(parcel).take(8).getLong();
		}

		public static float nativeReadFloat(long parcel) {
			return of(parcel).take(4).getFloat();
		}

		public static double nativeReadDouble(long parcel) {
			return of(parcel).take(8).getDouble();
		}

		private static byte[] bytes(long parcel, int count, int end) {
			byte[] bytes = new byte[count];
			of(parcel).take(count + end).get(bytes);
			return bytes;
		}

		public static String nativeReadString8(long parcel) {
			int length = nativeReadInt(parcel);
			return length < 0 ? null : new String(bytes(parcel, length, 1), StandardCharsets.UTF_8);
		}

		public static String nativeReadString16(long parcel) {
			int length = nativeReadInt(parcel);
			return length < 0 ? null
				: new String(bytes(parcel, 2 * length, 2), StandardCharsets.UTF_16LE);
		}

		public static String nativeReadString(long parcel) {
			return nativeReadString16(parcel);
		}

		public static byte[] nativeCreateByteArray(long parcel) {
			int length = nativeReadInt(parcel);
			return length < 0 ? null : bytes(parcel, length, 0);
		}

		/* An object without any methods, if it is not null. */
		public static Object nativeReadStrongBinder(long parcel) throws Exception {
			ByteBuffer object = of(parcel).take(OBJECT_SIZE);
			boolean isNull = object.getInt() == BINDER && object.getLong(8) == 0;
			if (hasStability)
				nativeReadInt(parcel);
			Class<?>[] types = { classes.loadClass("android.os.IBinder") };
			return isNull ? null : Proxy.newProxyInstance(classes, types, (a, b, c) -> null);
		}

		public static FileDescriptor nativeReadFileDescriptor(long parcel) {
			bytes(parcel, OBJECT_SIZE, 0);
			return new FileDescriptor();
		}

		public static byte[] nativeMarshall(long parcel) {
			return Arrays.copyOf(of(parcel).bytes.array(), of(parcel).size);
		}

		public static void nativeUnmarshall(long parcel, byte[] bytes, int offset, int count) {
			of(parcel).room(count).put(bytes, offset, count);
		}

		public static void nativeAppendFrom(long parcel, long other, int offset, int count) {
			of(parcel).room(count).put(of(other).bytes.array(), offset, count);
		}

		/* android.os.SystemProperties. */
		public static String native_get(String key, String otherwise) {
			return otherwise;
		}

		public static int native_get_int(String key, int otherwise) {
			return otherwise;
		}
	}

	/* The values of a parcel as JSON, and written again; of the classes of the jar. */
	public static class Values {
		public static String answer(String kind, byte[] bytes) {
			Parcel parcel = Parcel.obtain(), written = Parcel.obtain();
			parcel.unmarshall(bytes, 0, bytes.length);
			parcel.setDataPosition(0);
			ClassLoader loader = Values.class.getClassLoader();
			String shown;
			if (kind.equals("bundle")) {
				Bundle bundle = parcel.readTypedObject(Bundle.CREATOR);
				shown = entries(keys(bundle));
				written.writeTypedObject(bundle, 0);
			} else if (kind.equals("own")) {
				PersistableBundle bundle = parcel.readTypedObject(PersistableBundle.CREATOR);
				shown = bundle == null ? "null" : entries(keys(bundle));
				written.writeTypedObject(bundle, 0);
			} else if (kind.equals("map")) {
				Map<?, ?> map = parcel.readHashMap(loader);
				shown = map(map);
				written.writeMap(map);
			} else {
				List<?> list = parcel.readArrayList(loader);
				shown = shown(list);
				written.writeList(list);
			}
			if (parcel.dataAvail() > 0)
				shown = quoted(parcel.dataAvail() + " bytes are left over");
			return HexFormat.of().formatHex(written.marshall()) + " " + shown;
		}

		private static Map<String, Object> keys(BaseBundle bundle) {
			Map<String, Object> found = new HashMap<>();
			for (String key : bundle.keySet())
				found.put(key, bundle.get(key));
			return found;
		}

		private static String quoted(Object text) {
			return "\"" + text + "\"";
		}

		private static String entries(Map<?, ?> map) {
			StringJoiner made = new StringJoiner(",", "{", "}");
			map.forEach((key, value) -> made.add(quoted(key) + ":" + shown(value)));
			return made.toString();
		}

		private static String map(Map<?, ?> map) {
			if (map.keySet().stream().allMatch(key -> key instanceof String))
				return entries(map);
			StringJoiner made = new StringJoiner(",", "[", "]");
			map.forEach((key, value) -> made.add("[" + shown(key) + "," + shown(value) + "]"));
			return made.toString();
		}

		/* A value whose type is said elsewhere. */
		private static String plain(Object value) {
			if (value instanceof CharSequence || value instanceof Character
					|| value instanceof Number && "NaN".equals(value.toString()))
				return quoted(value);
			if (value instanceof byte[])
				return quoted("hex:" + HexFormat.of().formatHex((byte[]) value));
			if (value == null || !value.getClass().isArray())
				return String.valueOf(value);
			StringJoiner made = new StringJoiner(",", "[", "]");
			for (int i = 0; i < Array.getLength(value); i++)
				made.add(plain(Array.get(value, i)));
			return made.toString();
		}

		private static String of(String type, String value) {
			return "{" + quoted(type) + ":" + value + "}";
		}

		private static String shown(Object value) {
			if (value == null || value instanceof String || value instanceof Integer
					|| value instanceof Boolean
					|| value instanceof Double && !value.equals(Double.NaN))
				return plain(value);
			if (value instanceof List) {
				StringJoiner made = new StringJoiner(",", "[", "]");
				((List<?>) value).forEach(one -> made.add(shown(one)));
				return made.toString();
			}
			if (value instanceof Map)
				return of("Map", map((Map<?, ?>) value));
			String name = value.getClass().getSimpleName();
			if (value instanceof BaseBundle)
				return of(name, entries(keys((BaseBundle) value)));
			if (value instanceof IBinder || value instanceof ParcelFileDescriptor)
				return of(value instanceof IBinder ? "IBinder" : name, quoted("object"));
			if (name.matches("(boolean|byte|char|short|int|long|float|double|String)\\[\\]"))
				return of(name, plain(value));
			if (value instanceof Character)
				return of("char", plain(value));
			if (value instanceof Number)
				return of(name.toLowerCase(), plain(value));
			return unread(value);
		}

		/* The bytes behind the number of the type, and behind the length, where there is one. */
		private static String unread(Object value) {
			Parcel parcel = Parcel.obtain();
			parcel.writeValue(value);
			parcel.setDataPosition(0);
			int number = parcel.readInt(), length = parcel.readInt(), start = 8;
			if (length != parcel.dataSize() - start)
				start = 4;
			byte[] bytes = parcel.marshall();
			return of("type " + number, plain(Arrays.copyOfRange(bytes, start, bytes.length)));
		}
	}
}
