//! A small part of JSON Schema, as much as the schemas of this program use, for their tests.

use serde_json::{Value, json};

/// Follows a reference within the schema.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).expect(reference),
        None => schema,
    }
}

fn kind_fits(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("the schema has the unknown type {other}"),
    }
}

/// Walks schema and value together: both must have the same fields, of the same kind, and each field its words.
pub(crate) fn walk(schema: &Value, value: &Value, root: &Value, path: &str) {
    let schema = resolved(schema, root);
    if let Some(choices) = schema["anyOf"].as_array() {
        assert_eq!(choices.len(), 2, "{path}");
        assert_eq!(choices[1], json!({ "type": "null" }), "{path}");
        if !value.is_null() {
            walk(&choices[0], value, root, path);
        }
        return;
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => panic!("{path} has no type"),
    };
    assert!(kinds.iter().any(|kind| kind_fits(kind, value)), "{path} is {value}, but the schema says {kinds:?}");
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), value.as_f64()) {
        assert!(number >= least, "{path}");
    }
    if let Some(only) = schema.get("const") {
        assert_eq!(value, only, "{path}");
    }
    if let Some(properties) = schema["properties"].as_object() {
        let names = |names: &mut dyn Iterator<Item = &String>| {
            let mut names: Vec<String> = names.cloned().collect();
            names.sort();
            names
        };
        let described = names(&mut properties.keys());
        let required: Vec<Value> = schema["required"].as_array().expect(path).clone();
        let mut required: Vec<String> = required.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        required.sort();
        assert_eq!(described, required, "{path}");
        assert_eq!(described, names(&mut value.as_object().expect(path).keys()), "{path}");
        for (name, schema) in properties {
            let words = schema["description"].as_str().or(resolved(schema, root)["description"].as_str());
            assert!(words.is_some_and(|words| words.len() > 3), "{path}.{name} has no description");
            walk(schema, &value[name], root, &format!("{path}.{name}"));
        }
    }
    for entry in value.as_array().into_iter().flatten() {
        walk(&schema["items"], entry, root, &format!("{path}[]"));
    }
    if let (Some(rest), Some(fields)) = (schema.get("additionalProperties"), value.as_object()) {
        fields.values().for_each(|value| walk(rest, value, root, path));
    }
}
