package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// keptMethods are generated methods that only other packages call.
var keptMethods = []string{
	"FavouriteImportReply.MarshalJSON", "ImportJob.MarshalJSON",
	"SearchRequest.MarshalJSON", "SearchRequest.UnmarshalJSON",
}

// prune removes the generated methods that nothing calls, such as the decoders of replies and the encoders of requests.
// The linker keeps every method of a type in an interface, because the templates and the command line find methods by
// name, so unused ones would be a megabyte of the program.
func prune(folder string) error {
	files := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return err
	}
	var parsed []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		parsed = append(parsed, f)
	}
	dead := deadMethods(files, parsed)
	for i, f := range parsed {
		if err := removeFunctions(files, names[i], f, dead); err != nil {
			return err
		}
	}
	return nil
}

// deadMethods returns the prunable methods that no other function calls. The types of other packages are not loaded:
// the methods belong to types of this package, and the compiler finds the calls of a method that is missing.
func deadMethods(files *token.FileSet, parsed []*ast.File) map[*ast.FuncDecl]bool {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	_, _ = config.Check("oas", files, parsed, info) // the names of other packages are unknown

	dead, declared := map[*ast.FuncDecl]bool{}, map[types.Object]*ast.FuncDecl{}
	var live []*ast.FuncDecl
	for _, f := range parsed {
		for _, d := range f.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			declared[info.Defs[function.Name]] = function
			if prunable(function) {
				dead[function] = true
			} else {
				live = append(live, function)
			}
		}
	}
	for len(live) > 0 {
		function := live[len(live)-1]
		live = live[:len(live)-1]
		ast.Inspect(function, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				if called := declared[info.Uses[name]]; dead[called] {
					delete(dead, called)
					live = append(live, called)
				}
			}
			return true
		})
	}
	return dead
}

// prunable reports whether a function is of a kind that is generated for every type or operation, called or not.
// Methods that package httpapi calls through an interface, such as Validate, are not.
func prunable(f *ast.FuncDecl) bool {
	name := f.Name.Name
	if f.Recv == nil {
		return strings.HasPrefix(name, "unpack") && strings.HasSuffix(name, "Params")
	}
	receiver := f.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	typeName, ok := receiver.(*ast.Ident)
	if !ok || slices.Contains(keptMethods, typeName.Name+"."+name) {
		return false
	}
	switch name {
	case "Decode", "Encode", "encodeFields", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText",
		"AllValues":
		return true
	}
	accessor := strings.HasPrefix(name, "Set") || strings.HasPrefix(name, "Get")
	return accessor && len(name) > len("Set") && !strings.HasPrefix(typeName.Name, "Opt") &&
		!strings.HasPrefix(typeName.Name, "Nil") && typeName.Name != "UnimplementedHandler"
}

// emptyPackages is an importer whose packages have no names.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, filepath.Base(path))
	p.MarkComplete()
	return p, nil
}

// removeFunctions writes a file without these functions and without unused imports.
func removeFunctions(files *token.FileSet, name string, f *ast.File, dead map[*ast.FuncDecl]bool) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var cuts [][2]int
	used := map[string]bool{}
	for _, d := range f.Decls {
		function, ok := d.(*ast.FuncDecl)
		if ok && dead[function] {
			start := function.Pos()
			if function.Doc != nil {
				start = function.Doc.Pos()
			}
			cuts = append(cuts, [2]int{files.Position(start).Offset, files.Position(function.End()).Offset})
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok {
					used[x.Name] = true
				}
			}
			return true
		})
	}
	for _, i := range f.Imports {
		local := filepath.Base(strings.Trim(i.Path.Value, `"`))
		if i.Name != nil {
			local = i.Name.Name
		}
		if !used[local] {
			cuts = append(cuts, [2]int{files.Position(i.Pos()).Offset, files.Position(i.End()).Offset})
		}
	}
	if len(cuts) == 0 {
		return nil
	}
	slices.SortFunc(cuts, func(a, b [2]int) int { return a[0] - b[0] })
	var out bytes.Buffer
	at := 0
	for _, cut := range cuts {
		out.Write(text[at:cut[0]])
		at = cut[1]
	}
	out.Write(text[at:])
	return writeFormatted(name, out.Bytes())
}
