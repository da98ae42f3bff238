//! usage: bindgen MODULE.wasm FOLDER   writes the JavaScript and the TypeScript types of a module into a folder

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: bindgen MODULE.wasm FOLDER");
        std::process::exit(2);
    };
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    // Whoever calls `init()` without saying where the module is finds it beside the JavaScript.
    bindgen.input_path(module).out_name("taut").typescript(true).omit_default_module_path(false);
    let written = bindgen.web(true).and_then(|bindgen| bindgen.generate(folder));
    if let Err(error) = written {
        eprintln!("{error:?}");
        std::process::exit(1);
    }
}
