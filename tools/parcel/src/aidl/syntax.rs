// SPDX-License-Identifier: Apache-2.0
//! One `.aidl` file as a tree.
use super::brackets::{check_depth, line, skipped};
use crate::budget::MAX_FILE;
use pest::error::LineColLocation;
use pest::iterators::Pair;
use pest::Parser;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(pest_derive::Parser)]
#[grammar = "aidl/aidl.pest"]
struct Grammar;

/// The last number of a method that an interface may give.
const LAST_CODE: u32 = 16_777_114;

#[derive(Clone, Debug, Default)]
pub struct File {
    pub package: String,
    pub imports: Vec<String>,
    pub declarations: Vec<Declaration>,
}

#[derive(Clone, Debug)]
pub struct Declaration {
    pub name: String,
    /// Where it begins in the file.
    pub at: usize,
    pub annotations: Vec<Annotation>,
    pub body: Body,
    /// By their names.
    pub constants: HashMap<String, Constant>,
    pub nested: Vec<Declaration>,
}

#[derive(Clone, Debug)]
pub enum Body {
    Interface {
        methods: Vec<Method>,
    },
    Parcelable {
        fields: Vec<Field>,
    },
    Union {
        fields: Vec<Field>,
    },
    Enum {
        items: Vec<Enumerator>,
        /// The places of the items by their names.
        places: HashMap<String, usize>,
    },
    /// Declared, but defined elsewhere.
    Opaque,
}

#[derive(Clone, Debug)]
pub struct Annotation {
    pub name: String,
    /// The text of its settings with a name, strings without their quotes.
    pub settings: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct Constant {
    pub kind: TypeName,
    pub value: Value,
}

#[derive(Clone, Debug)]
pub struct Enumerator {
    pub name: String,
    pub value: Option<Value>,
    pub at: usize,
}

#[derive(Clone, Debug)]
pub struct Method {
    /// The method as it is written, without comments and without its code.
    pub text: String,
    pub name: String,
    pub is_oneway: bool,
    pub result: TypeName,
    pub arguments: Vec<Argument>,
    pub code: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
    InOut,
}

#[derive(Clone, Debug)]
pub struct Argument {
    pub direction: Direction,
    pub kind: TypeName,
    pub name: String,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub kind: TypeName,
    pub name: String,
    pub default: Option<Value>,
}

/// A type as it is written; its name is not looked up yet.
#[derive(Clone, Debug)]
pub struct TypeName {
    /// A number of its own.
    pub id: usize,
    pub at: usize,
    pub path: String,
    pub arguments: Vec<TypeName>,
    /// Outermost first; None for `[]`.
    pub dimensions: Vec<Option<Value>>,
    pub is_nullable: bool,
}

/// The value of a constant as it is written.
#[derive(Clone, Debug)]
pub enum Value {
    Number(String),
    Float(String),
    Text(String),
    Character(char),
    Truth(bool),
    Path(String),
    List(Vec<Value>),
    /// Signs before a value.
    Signs(String, Box<Value>),
    /// An operand, and operators with the operands behind them.
    Chain(Box<Value>, Vec<(Rule, Value)>),
}

/// Parses a file. The error begins with its line.
pub fn parse(source: &str) -> Result<File, String> {
    if source.len() > MAX_FILE {
        return Err(format!("1: the file is larger than {MAX_FILE} bytes"));
    }
    check_depth(source)?;
    let mut pairs = Grammar::parse(Rule::file, source).map_err(|err| {
        let (LineColLocation::Pos((line, column)) | LineColLocation::Span((line, column), _)) =
            err.line_col;
        format!("{line}:{column}: {}", err.variant.message())
    })?;
    let mut file = File::default();
    for pair in pairs.next().into_iter().flat_map(Pair::into_inner) {
        match pair.as_rule() {
            Rule::package => file.package = text_of(pair),
            Rule::import => file.imports.push(text_of(pair)),
            Rule::declaration => file.declarations.push(declaration(pair)?),
            _ => {}
        }
    }
    Ok(file)
}

/// The text of the only inner pair.
fn text_of(pair: Pair<Rule>) -> String {
    let inner = pair.into_inner().next();
    inner.map_or_else(String::new, |one| one.as_str().trim().to_string())
}

fn declaration(pair: Pair<Rule>) -> Result<Declaration, String> {
    let mut annotations = Vec::new();
    let mut made = None;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::annotation => annotations.push(annotation(part)),
            _ => made = Some(body(part)?),
        }
    }
    let mut made = made.expect("a declaration has a body");
    made.annotations = annotations;
    Ok(made)
}

fn body(pair: Pair<Rule>) -> Result<Declaration, String> {
    let (rule, source) = (pair.as_rule(), pair.get_input());
    let has_body = pair.as_str().contains('{');
    let mut made = Declaration {
        name: String::new(),
        at: pair.as_span().start(),
        annotations: Vec::new(),
        body: Body::Opaque,
        constants: HashMap::new(),
        nested: Vec::new(),
    };
    let (mut methods, mut fields, mut items) = (Vec::new(), Vec::new(), Vec::new());
    let mut all_oneway = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::oneway => all_oneway = true,
            Rule::name | Rule::path => made.name = part.as_str().trim().to_string(),
            Rule::method => {
                let at = part.as_span().start();
                let one = method(part);
                methods.push((
                    at,
                    one.map_err(|err| format!("{}: {err}", line(source, at)))?,
                ));
            }
            Rule::field => fields.push(field(part)),
            Rule::enumerator => items.push(enumerator(part)),
            Rule::constant => made.constants.extend(constant(part)),
            Rule::declaration => made.nested.push(declaration(part)?),
            _ => {}
        }
    }
    check_codes(&methods).map_err(|(at, err)| format!("{}: {err}", line(source, at)))?;
    let mut methods: Vec<Method> = methods.into_iter().map(|(_, one)| one).collect();
    for method in &mut methods {
        if all_oneway && !method.is_oneway {
            method.is_oneway = true;
            method.text.insert_str(0, "oneway ");
        }
    }
    made.body = match rule {
        Rule::interface if has_body => Body::Interface { methods },
        Rule::parcelable if has_body => Body::Parcelable { fields },
        Rule::union => Body::Union { fields },
        Rule::enumeration => Body::Enum {
            places: items
                .iter()
                .enumerate()
                .map(|(at, item): (usize, &Enumerator)| (item.name.clone(), at))
                .collect(),
            items,
        },
        _ => Body::Opaque,
    };
    Ok(made)
}

/// Fails, with the place, where the compiler does: all methods say their numbers, each its own, or
/// none does.
fn check_codes(methods: &[(usize, Method)]) -> Result<(), (usize, String)> {
    let mut seen = HashSet::new();
    let has_codes = methods.first().is_some_and(|(_, one)| one.code.is_some());
    for (at, method) in methods {
        let name = &method.name;
        if method.code.is_some() != has_codes {
            let what = "either all methods of an interface have a number, or none has";
            return Err((*at, format!("{name}: {what}")));
        }
        if let Some(code) = method.code.filter(|code| !seen.insert(*code)) {
            return Err((*at, format!("{name}: another method has the number {code}")));
        }
    }
    Ok(())
}

/// The number of a method, which is decimal and has no suffix.
fn code(text: &str) -> Result<u32, String> {
    let code = text.parse().ok().filter(|code| *code <= LAST_CODE);
    code.ok_or_else(|| {
        format!("{text} is no number of a method: these are decimal, from 0 to {LAST_CODE}")
    })
}

fn annotation(pair: Pair<Rule>) -> Annotation {
    let mut parts = pair.into_inner();
    let name = parts.next().map_or("", |part| part.as_str());
    let settings = parts.map(|setting| {
        let mut words = setting.into_inner();
        let key = words.next().map_or("", |word| word.as_str().trim());
        let value = words.next().map_or("", |word| word.as_str().trim());
        (key.to_string(), value.trim_matches('"').to_string())
    });
    Annotation {
        name: name.trim_start_matches('@').to_string(),
        settings: settings.collect(),
    }
}

fn constant(pair: Pair<Rule>) -> Option<(String, Constant)> {
    let (mut name, mut kind, mut value) = (None, None, None);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => name = Some(part.as_str().trim().to_string()),
            Rule::type_ => kind = Some(type_name(part)),
            Rule::list | Rule::expression => value = Some(read_value(part)),
            _ => {}
        }
    }
    let kind = kind?;
    Some((
        name?,
        Constant {
            kind,
            value: value?,
        },
    ))
}

/// A text in one line.
pub(super) fn without_comments(text: &str) -> String {
    let (mut made, mut at) = (String::new(), 0);
    while let Some(before) = text[at..].find(['/', '"', '\'']) {
        made += &text[at..at + before];
        at += before;
        let rest = &text[at..];
        let size = skipped(rest).max(1);
        match rest.starts_with("//") || rest.starts_with("/*") {
            true => made.push(' '),
            false => made += &rest[..size],
        }
        at += size;
    }
    made += &text[at..];
    made.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn method(pair: Pair<Rule>) -> Result<Method, String> {
    let text = without_comments(pair.as_str());
    let end = text.rfind(')').map_or(text.len(), |at| at + 1);
    let mut made = Method {
        text: text[..end].to_string(),
        name: String::new(),
        is_oneway: false,
        result: TypeName::named("void"),
        arguments: Vec::new(),
        code: None,
    };
    let mut is_nullable = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            // Of the result, whose type stands behind it.
            Rule::annotation => is_nullable |= annotation(part).name == "nullable",
            Rule::oneway => made.is_oneway = true,
            Rule::type_ => made.result = type_name(part),
            Rule::name => made.name = part.as_str().trim().to_string(),
            Rule::argument => made.arguments.push(argument(part)),
            Rule::code => made.code = Some(code(part.as_str())?),
            _ => {}
        }
    }
    made.result.is_nullable |= is_nullable;
    Ok(made)
}

fn argument(pair: Pair<Rule>) -> Argument {
    let mut made = Argument {
        direction: Direction::In,
        kind: TypeName::named("void"),
        name: String::new(),
    };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::direction if part.as_str() == "out" => made.direction = Direction::Out,
            Rule::direction if part.as_str() == "inout" => made.direction = Direction::InOut,
            Rule::type_ => made.kind = type_name(part),
            Rule::name => made.name = part.as_str().trim().to_string(),
            _ => {}
        }
    }
    made
}

fn field(pair: Pair<Rule>) -> Field {
    let mut made = Field {
        kind: TypeName::named("void"),
        name: String::new(),
        default: None,
    };
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::type_ => made.kind = type_name(part),
            Rule::name => made.name = part.as_str().trim().to_string(),
            Rule::list | Rule::expression => made.default = Some(read_value(part)),
            _ => {}
        }
    }
    made
}

fn enumerator(pair: Pair<Rule>) -> Enumerator {
    let at = pair.as_span().start();
    let mut parts = pair.into_inner();
    let name = parts.next().map_or("", |part| part.as_str().trim());
    Enumerator {
        name: name.to_string(),
        value: parts.next().map(read_value),
        at,
    }
}

impl TypeName {
    pub fn named(path: &str) -> TypeName {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        TypeName {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            at: 0,
            path: path.to_string(),
            arguments: Vec::new(),
            dimensions: Vec::new(),
            is_nullable: false,
        }
    }
}

fn type_name(pair: Pair<Rule>) -> TypeName {
    let mut made = TypeName::named("");
    made.at = pair.as_span().start();
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::annotation => made.is_nullable |= annotation(part).name == "nullable",
            Rule::path => made.path = part.as_str().to_string(),
            Rule::arguments => made.arguments = part.into_inner().map(type_name).collect(),
            Rule::dimension => made
                .dimensions
                .push(part.into_inner().next().map(read_value)),
            _ => {}
        }
    }
    made
}

fn read_value(pair: Pair<Rule>) -> Value {
    match pair.as_rule() {
        Rule::list => Value::List(pair.into_inner().map(read_value).collect()),
        Rule::expression => {
            let mut parts = pair.into_inner();
            let first = parts.next().map_or(Value::Truth(false), operand);
            let mut rest = Vec::new();
            while let (Some(operator), Some(right)) = (parts.next(), parts.next()) {
                rest.push((operator.as_rule(), operand(right)));
            }
            match rest.is_empty() {
                true => first,
                false => Value::Chain(Box::new(first), rest),
            }
        }
        Rule::float => Value::Float(pair.as_str().to_string()),
        Rule::number => Value::Number(pair.as_str().to_string()),
        Rule::text => Value::Text(pair.as_str()[1..pair.as_str().len() - 1].to_string()),
        Rule::character => Value::Character(pair.as_str().chars().nth(1).unwrap_or('\0')),
        Rule::truth => Value::Truth(pair.as_str() == "true"),
        _ => Value::Path(pair.as_str().to_string()),
    }
}

fn operand(pair: Pair<Rule>) -> Value {
    let mut signs = String::new();
    let mut value = Value::Truth(false);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::sign => signs.push_str(part.as_str()),
            _ => value = read_value(part),
        }
    }
    match signs.is_empty() {
        true => value,
        false => Value::Signs(signs, Box::new(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_becomes_a_tree() {
        let file = parse(
            "// note\npackage a.b; import c.D;\n/** doc */ @VintfStability interface IX {\n\
             const int N = (1 << 4) | 0x2;\n\
             oneway void f(in byte[] a, // the bytes )\n inout /* D) */ @nullable List<D> b) = 3;\n\
             @Backing(type=\"byte\") enum E { A, B = 1 << 3, C = B + 1, }\n\
             String[2][N] interfaces() = 4; union U { int a = -1; String b; } }",
        )
        .unwrap();
        assert_eq!(
            (file.package.as_str(), &file.imports[..]),
            ("a.b", &["c.D".to_string()][..])
        );
        let one = &file.declarations[0];
        assert_eq!(
            (one.name.as_str(), one.nested.len(), one.constants.len()),
            ("IX", 2, 1)
        );
        let Body::Interface { methods } = &one.body else {
            panic!("not an interface: {one:?}");
        };
        assert!(methods[0].is_oneway && !methods[1].is_oneway);
        assert_eq!(
            (methods[0].code, methods[1].name.as_str()),
            (Some(3), "interfaces")
        );
        assert!(methods[0].arguments[1].kind.is_nullable);
        assert_eq!(
            methods[0].text,
            "oneway void f(in byte[] a, inout @nullable List<D> b)"
        );
        assert_eq!(methods[0].arguments[1].direction, Direction::InOut);
        assert_eq!(methods[1].result.dimensions.len(), 2);
        assert_eq!(one.nested[0].annotations[0].settings[0].1, "byte");
    }

    #[test]
    fn bad_files_are_refused_with_their_place() {
        let error = parse("package a;\ninterface {").unwrap_err();
        assert!(error.contains("2:"), "{error}");
        assert!(parse(&"(".repeat(100_000)).unwrap_err().contains("nested"));
        assert!(parse(&format!("interface I {{ {}", "List<".repeat(9999))).is_err());
        assert!(parse(&"/*".repeat(1000)).is_err());
    }
}
