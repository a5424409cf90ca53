// SPDX-License-Identifier: Apache-2.0
//! One `.aidl` file as a tree.
use pest::iterators::Pair;
use pest::Parser;

#[derive(pest_derive::Parser)]
#[grammar = "aidl/aidl.pest"]
struct Grammar;

/// How deep brackets may be nested: the parser is recursive.
const MAX_DEPTH: usize = 64;
const MAX_SIZE: usize = 1 << 20;

#[derive(Clone, Debug, Default)]
pub struct File {
    pub package: String,
    pub imports: Vec<String>,
    pub declarations: Vec<Declaration>,
}

#[derive(Clone, Debug)]
pub struct Declaration {
    pub name: String,
    pub annotations: Vec<Annotation>,
    pub body: Body,
    pub constants: Vec<Constant>,
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
        items: Vec<(String, Option<Value>)>,
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
    pub name: String,
    pub value: Value,
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
    Sign(char, Box<Value>),
    /// Operands, and the operators between them.
    Chain(Vec<Value>, Vec<Rule>),
}

/// Parses a file. The error has its line and column.
pub fn parse(source: &str) -> Result<File, String> {
    if source.len() > MAX_SIZE {
        return Err(format!("it is larger than {MAX_SIZE} bytes"));
    }
    check_depth(source)?;
    let mut pairs = Grammar::parse(Rule::file, source).map_err(|err| err.to_string())?;
    let mut file = File::default();
    for pair in pairs.next().into_iter().flat_map(Pair::into_inner) {
        match pair.as_rule() {
            Rule::package => file.package = text_of(pair),
            Rule::import => file.imports.push(text_of(pair)),
            Rule::declaration => file.declarations.push(declaration(pair)),
            _ => {}
        }
    }
    Ok(file)
}

/// Counts brackets of expressions and bodies, and those of type arguments, which are told from
/// comparisons and shifts by what is around them.
fn check_depth(source: &str) -> Result<(), String> {
    let bytes = source.as_bytes();
    let (mut depth, mut angles) = (0usize, 0usize);
    for (at, byte) in bytes.iter().enumerate() {
        let next = bytes.get(at + 1);
        match byte {
            b'(' | b'{' | b'[' => (depth, angles) = (depth + 1, 0),
            b')' | b'}' | b']' => (depth, angles) = (depth.saturating_sub(1), 0),
            b';' | b'=' => angles = 0,
            b'<' if next != Some(&b'<') && next != Some(&b'=') => angles += 1,
            b'>' => angles = angles.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH || angles > MAX_DEPTH {
            return Err(format!("brackets are nested deeper than {MAX_DEPTH}"));
        }
    }
    Ok(())
}

/// The text of the only inner pair.
fn text_of(pair: Pair<Rule>) -> String {
    let inner = pair.into_inner().next();
    inner.map_or_else(String::new, |one| one.as_str().trim().to_string())
}

fn declaration(pair: Pair<Rule>) -> Declaration {
    let mut annotations = Vec::new();
    let mut made = None;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::annotation => annotations.push(annotation(part)),
            _ => made = Some(body(part)),
        }
    }
    let mut made = made.expect("a declaration has a body");
    made.annotations = annotations;
    made
}

fn body(pair: Pair<Rule>) -> Declaration {
    let rule = pair.as_rule();
    let has_body = pair.as_str().contains('{');
    let mut made = Declaration {
        name: String::new(),
        annotations: Vec::new(),
        body: Body::Opaque,
        constants: Vec::new(),
        nested: Vec::new(),
    };
    let (mut methods, mut fields, mut items) = (Vec::new(), Vec::new(), Vec::new());
    let mut all_oneway = false;
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::oneway => all_oneway = true,
            Rule::name | Rule::path => made.name = part.as_str().trim().to_string(),
            Rule::method => methods.push(method(part)),
            Rule::field => fields.push(field(part)),
            Rule::enumerator => items.push(enumerator(part)),
            Rule::constant => made.constants.push(constant(part)),
            Rule::declaration => made.nested.push(declaration(part)),
            _ => {}
        }
    }
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
        Rule::enumeration => Body::Enum { items },
        _ => Body::Opaque,
    };
    made
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

fn constant(pair: Pair<Rule>) -> Constant {
    let mut name = String::new();
    let mut value = Value::List(Vec::new());
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::name => name = part.as_str().trim().to_string(),
            Rule::list | Rule::expression => value = read_value(part),
            _ => {}
        }
    }
    Constant { name, value }
}

/// A text in one line.
fn without_comments(text: &str) -> String {
    let (mut made, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        made += &rest[..at];
        let end = if rest[at..].starts_with("/*") {
            "*/"
        } else {
            "\n"
        };
        rest = rest[at..].split_once(end).map_or("", |(_, behind)| behind);
        made.push(' ');
    }
    made += rest;
    made.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn method(pair: Pair<Rule>) -> Method {
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
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::oneway => made.is_oneway = true,
            Rule::type_ => made.result = type_name(part),
            Rule::name => made.name = part.as_str().trim().to_string(),
            Rule::argument => made.arguments.push(argument(part)),
            Rule::number => made.code = part.as_str().parse().ok(),
            _ => {}
        }
    }
    made
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

fn enumerator(pair: Pair<Rule>) -> (String, Option<Value>) {
    let mut parts = pair.into_inner();
    let name = parts.next().map_or("", |part| part.as_str().trim());
    (name.to_string(), parts.next().map(read_value))
}

impl TypeName {
    pub fn named(path: &str) -> TypeName {
        TypeName {
            path: path.to_string(),
            arguments: Vec::new(),
            dimensions: Vec::new(),
            is_nullable: false,
        }
    }
}

fn type_name(pair: Pair<Rule>) -> TypeName {
    let mut made = TypeName::named("");
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
            let (mut operands, mut operators) = (Vec::new(), Vec::new());
            for part in pair.into_inner() {
                match part.as_rule() {
                    Rule::operand => operands.push(operand(part)),
                    operator => operators.push(operator),
                }
            }
            match operators.is_empty() {
                true => operands.remove(0),
                false => Value::Chain(operands, operators),
            }
        }
        Rule::float => Value::Float(pair.as_str().trim_end_matches('f').to_string()),
        Rule::number => Value::Number(pair.as_str().replace('_', "")),
        Rule::text => Value::Text(pair.as_str().trim_matches('"').to_string()),
        Rule::character => {
            let inner = pair
                .as_str()
                .trim_start_matches('\'')
                .trim_start_matches('\\');
            Value::Character(inner.chars().next().unwrap_or('\0'))
        }
        Rule::truth => Value::Truth(pair.as_str() == "true"),
        _ => Value::Path(pair.as_str().to_string()),
    }
}

fn operand(pair: Pair<Rule>) -> Value {
    let mut signs = Vec::new();
    let mut value = Value::Truth(false);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::sign => signs.extend(part.as_str().chars()),
            _ => value = read_value(part),
        }
    }
    signs
        .into_iter()
        .rev()
        .fold(value, |value, sign| Value::Sign(sign, Box::new(value)))
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
             String[2][N] interfaces(); union U { int a = -1; String b; } }",
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
