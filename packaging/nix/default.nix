# SPDX-License-Identifier: GPL-2.0
# nix-build packaging/nix             the daemon and the command
# nix-build packaging/nix -A module   the kernel modules, for the kernel of `linuxPackages`
{ pkgs ? import <nixpkgs> { }, linuxPackages ? pkgs.linuxPackages }:

let
  version = (builtins.fromTOML (builtins.readFile ../../tools/Cargo.toml)).workspace.package.version;
  src = pkgs.lib.cleanSource ../..;
  meta = {
    description = "Android Binder IPC on any Linux";
    license = with pkgs.lib.licenses; [ gpl2Only asl20 ];
    platforms = [ "x86_64-linux" "aarch64-linux" ];
  };

  anybinder = pkgs.stdenv.mkDerivation {
    pname = "anybinder";
    inherit version src;
    cargoRoot = "tools";
    cargoDeps = pkgs.rustPlatform.importCargoLock { lockFile = ../../tools/Cargo.lock; };
    nativeBuildInputs = with pkgs; [ cargo rustc rustPlatform.cargoSetupHook python3 ];
    postPatch = "patchShebangs packaging scripts";
    buildPhase = "make -j$NIX_BUILD_CORES EXTRA_CFLAGS=-Wno-error installed-programs";
    # What is below /etc and the units' paths of other programs are for NixOS to set.
    installPhase = ''
      make install PREFIX=$out DESTDIR=$PWD/root
      mv root$out $out
      mkdir -p $out/share/anybinder
      mv root/etc/default/anybinder $out/share/anybinder/default
      install -m 644 LICENSES/* debian/copyright $out/share/doc/anybinder/
    '';
    passthru = { inherit module; };
    inherit meta;
  };

  module = pkgs.stdenv.mkDerivation {
    pname = "anybinder-module";
    inherit version src;
    nativeBuildInputs = [ pkgs.python3 ] ++ linuxPackages.kernel.moduleBuildDependencies;
    postPatch = "patchShebangs packaging host";
    hardeningDisable = [ "pic" ];
    buildPhase = ''
      make install-dkms DESTDIR=$PWD/root
      make -C ${linuxPackages.kernel.dev}/lib/modules/${linuxPackages.kernel.modDirVersion}/build \
        M=$PWD/root/usr/src/anybinder-${version} modules
    '';
    installPhase = ''
      install -D -t $out/lib/modules/${linuxPackages.kernel.modDirVersion}/extra \
        root/usr/src/anybinder-${version}/*.ko
    '';
    inherit meta;
  };
in
anybinder
