// Command sbom writes the components of a Go binary and of its web app to standard output, in CycloneDX 1.6 format. The
// modules come from the build information in the binary, so that the list has exactly what is linked.
//
//	sbom BINARY VERSION WEB
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

type bom struct {
	BOMFormat   string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 3 {
		return errors.New("usage: sbom BINARY VERSION WEB")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	components := modules(info)
	packages, err := webPackages(os.DirFS(args[2]))
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(bom{
		BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{newComponent("application", "generic", "carrel", args[1])},
		Components: append(components, packages...),
	})
}

func newComponent(kind, packageType, name, version string) component {
	// The at sign of a scope is the only character of module paths and package names that a purl must escape.
	purl := "pkg:" + packageType + "/" + strings.ReplaceAll(name, "@", "%40") + "@" + version
	return component{Type: kind, Ref: purl, Name: name, Version: version, PURL: purl}
}

// modules returns the standard library and the modules that are linked.
func modules(info *debug.BuildInfo) []component {
	out := []component{newComponent("library", "golang", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		out = append(out, newComponent("library", "golang", m.Path, m.Version))
	}
	return out
}

// imported matches the package of an import in a source of the web app.
var imported = regexp.MustCompile(`(?:from|import|import\()\s*["']((?:@[\w.-]+/)?[a-zA-Z][\w.-]*)`)

// webPackages returns the npm packages that the sources of the web app import, with the versions of the lock file.
// Tools of the build are not part of the app.
func webPackages(web fs.FS) ([]component, error) {
	text, err := fs.ReadFile(web, "package-lock.json")
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version   string `json:"version"`
			Integrity string `json:"integrity"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	used := map[string]bool{}
	err = fs.WalkDir(web, "src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(d.Name(), ".test.") {
			return err
		}
		source, err := fs.ReadFile(web, path)
		for _, m := range imported.FindAllStringSubmatch(string(source), -1) {
			used[m[1]] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []component
	for name := range used {
		p, ok := lock.Packages["node_modules/"+name]
		if !ok {
			continue // a file of the app
		}
		c := newComponent("library", "npm", name, p.Version)
		if sum, ok := strings.CutPrefix(p.Integrity, "sha512-"); ok {
			raw, err := base64.StdEncoding.DecodeString(sum)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c.Hashes = []hash{{"SHA-512", hex.EncodeToString(raw)}}
		}
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b component) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
