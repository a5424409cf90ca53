// SPDX-License-Identifier: Apache-2.0
//! `anybinder generate DIR`: manual pages and completions, from the definitions that `--help` is
//! made from. For `make install`.
use super::complete;
use anybinder_cli::error::{Doing, Result};
use anybinder_mount::process::find_program;
use clap_complete::Shell;
use clap_mangen::roff::{bold, roman, Roff};
use clap_mangen::Man;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where each shell looks for completions, below the data directory.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/anybinder"),
    (Shell::Zsh, "zsh/site-functions/_anybinder"),
    (Shell::Fish, "fish/vendor_completions.d/anybinder.fish"),
];

/// What each manual page names as its origin.
const SOURCE: &str = concat!("anybinder ", env!("CARGO_PKG_VERSION"));

/// Names that are known only while the system runs, services, methods and devices, are asked for.
/// The words are those of the line, as bash divides names at `:` and `@`.
const NAMES_FOR_BASH: &str = r#"
_anybinder_names() {
    local line=${COMP_LINE:0:COMP_POINT} word words names
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[-1]}
    mapfile -t names < <("$1" complete -- "${words[@]:1}" 2>/dev/null </dev/null)
    if ((${#names[@]})); then
        COMPREPLY=("${names[@]#"${word%"${word##*[@:=]}"}"}")
    else
        _anybinder "$@"
    fi
}
complete -F _anybinder_names -o nosort -o bashdefault -o default anybinder
"#;

/// The function that zsh calls, before the one that was generated.
const NAMES_FOR_ZSH: &str = r#"
_anybinder() {
    local -a before=("${(@)words[2,CURRENT-1]}") names
    names=("${(@f)$(anybinder complete -- "${before[@]}" "$PREFIX" 2>/dev/null </dev/null)}")
    if [[ -n $names[1] ]]; then
        compadd -- "${names[@]}"
    else
        _anybinder_words "$@"
    fi
}
"#;

const NAMES_FOR_FISH: &str = r#"
function __fish_anybinder_names
    set -l words (commandline -opc) (commandline -ct)
    anybinder complete -- $words[2..-1] 2>/dev/null </dev/null
end

complete -c anybinder -a "(__fish_anybinder_names)"
"#;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The data directory, e.g. /usr/share
    directory: PathBuf,
}

fn write(path: &Path, text: &[u8]) -> Result<()> {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent)
        .and_then(|()| fs::write(path, text))
        .doing(|| format!("writing {}", path.display()))
}

/// A page for the command and one for each of its subcommands, theirs included.
fn write_pages(directory: &Path, command: &clap::Command, name: &str) -> Result<()> {
    let page = command
        .clone()
        .name(name.to_string())
        .bin_name(name.replace('-', " "));
    let mut text = Vec::new();
    Man::new(page)
        .source(SOURCE)
        .render(&mut text)
        .doing(|| format!("making the manual page of {name}"))?;
    write(&directory.join(format!("{name}.1")), &text)?;
    let subcommands = command.get_subcommands();
    for subcommand in subcommands.filter(|one| !one.is_hide_set() && one.get_name() != "help") {
        write_pages(
            directory,
            subcommand,
            &format!("{name}-{}", subcommand.get_name()),
        )?;
    }
    Ok(())
}

/// The page of the daemon, which is no Rust program: the text of its `--help`.
fn daemon_page() -> Result<Vec<u8>> {
    let doing = || "asking anybinderd for its options".to_string();
    let output = std::process::Command::new(find_program("anybinderd")?)
        .arg("--help")
        .output()
        .doing(doing)?;
    let help = String::from_utf8(output.stdout).doing(doing)?;
    let (usage, rest) = help.split_once('\n').unwrap_or((&help, ""));
    let (description, options) = rest.split_once("\n\n").unwrap_or((rest, ""));
    let mut page = Roff::new();
    page.control("TH", ["anybinderd", "8", SOURCE])
        .control("SH", ["NAME"])
        .text([roman(
            "anybinderd - Android Binder devices served from user space",
        )])
        .control("SH", ["SYNOPSIS"])
        .text([bold(usage.trim_start_matches("Usage: "))])
        .control("SH", ["DESCRIPTION"])
        .text([roman(description)])
        .control("SH", ["OPTIONS"])
        .control("nf", [])
        .text([roman(options)])
        .control("fi", [])
        .control("SH", ["SEE ALSO"])
        .text([bold("anybinder"), roman("(1)")]);
    Ok(page.to_roff().into_bytes())
}

/// A command without its hidden subcommands, for completions.
fn shown(command: &clap::Command) -> clap::Command {
    let subcommands = command.get_subcommands();
    let subcommands = subcommands.filter(|one| !one.is_hide_set()).map(shown);
    let mut made = clap::Command::new(command.get_name().to_string());
    if let Some(about) = command.get_about() {
        made = made.about(about.clone());
    }
    made.args(command.get_arguments().cloned())
        .subcommands(subcommands)
}

pub fn run(command: &mut clap::Command, arguments: &Arguments) -> Result<ExitCode> {
    let data = &arguments.directory;
    write_pages(&data.join("man/man1"), command, "anybinder")?;
    write(&data.join("man/man8/anybinderd.8"), &daemon_page()?)?;
    let mut shown = shown(command);
    for (shell, path) in COMPLETIONS {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut shown, "anybinder", &mut text);
        let text = with_names(shell, &String::from_utf8_lossy(&text));
        write(&data.join(path), text.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of fish's script; where it is that of an option whose value is such a name, with these.
fn with_value(line: &str) -> String {
    let option = line.split_once(" -l ").map(|(_, rest)| rest);
    let option = option.and_then(|rest| rest.split(' ').next());
    match option.is_some_and(complete::takes_a_name) && line.ends_with(" -r") {
        true => format!("{line} -f -a \"(__fish_anybinder_names)\""),
        false => line.to_string(),
    }
}

fn with_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}{NAMES_FOR_BASH}"),
        Shell::Fish => {
            let lines: Vec<String> = script.lines().map(with_value).collect();
            format!("{}\n{NAMES_FOR_FISH}", lines.join("\n"))
        }
        _ => {
            let start = "\nif [ \"$funcstack[1]\"";
            script
                .replacen("\n_anybinder() {", "\n_anybinder_words() {", 1)
                .replacen(start, &format!("{NAMES_FOR_ZSH}{start}"), 1)
        }
    }
}
