// Command promcheck parses the expressions of Prometheus rules and Grafana dashboards with the parser of Prometheus.
// Its test evaluates the alert rules. It is a separate module, because Prometheus has many dependencies.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

func main() {
	failed, checked := false, 0
	p := parser.NewParser(parser.Options{})
	for _, path := range os.Args[1:] {
		exprs, err := expressions(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "promcheck: %s: %v\n", path, err)
			os.Exit(1)
		}
		for _, expr := range exprs {
			checked++
			if _, err := p.ParseExpr(expr); err != nil {
				failed = true
				fmt.Fprintf(os.Stderr, "promcheck: %s: %v\n%s\n", path, err, expr)
			}
		}
	}
	if failed || checked == 0 {
		os.Exit(1)
	}
	fmt.Printf("promcheck: %d expressions are valid\n", checked)
}

// expressions returns the values of all "expr" keys of a JSON or YAML file.
func expressions(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var value any
	if strings.HasSuffix(path, ".json") {
		err = json.Unmarshal(text, &value)
	} else {
		err = yaml.Unmarshal(text, &value)
	}
	var exprs []string
	collect(value, &exprs)
	return exprs, err
}

// variables replaces the variables of Grafana in time ranges, which the parser does not know.
var variables = strings.NewReplacer("$__rate_interval", "1m")

func collect(value any, exprs *[]string) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			collect(item, exprs)
		}
	case map[string]any:
		for key, item := range v {
			if text, ok := item.(string); ok && key == "expr" {
				*exprs = append(*exprs, variables.Replace(text))
			} else {
				collect(item, exprs)
			}
		}
	}
}
