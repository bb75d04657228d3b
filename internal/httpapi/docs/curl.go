package docs

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"
)

// The examples use shell variables, which the first steps set, so that they can be pasted.
const authorization = ` -H "Authorization: Bearer $CARREL_KEY"`

// step sets a variable to the first id with this prefix in the reply of an operation.
type step struct {
	variable, operation, prefix string
}

var steps = []step{
	{"AGENT_ID", "listAgents", "agt_"},
	{"DOCUMENT_ID", "search", "doc_"},
	{"THREAD_ID", "createThread", "thr_"},
	{"MESSAGE_ID", "sendMessage", "msg_"},
	{"SOURCE_ID", "createSource", "src_"},
	{"UPLOAD_ID", "createUpload", "upl_"},
	{"FILE_ID", "listFiles", "fil_"},
	{"MEMORY_ID", "addMemory", "mem_"},
	{"CARD_ID", "saveFavourite", "card_"},
	{"COLLECTION_ID", "createCollection", "col_"},
	{"WEBHOOK_ID", "createWebhook", "whk_"},
	{"SESSION_ID", "listSessions", "crd_"},
	{"KEY_ID", "createKey", "crd_"},
	{"CODE_ID", "createConnectCode", "crd_"},
	{"CONNECTION_ID", "listConnections", "crd_"},
	{"PASSKEY_ID", "listPasskeys", "crd_"},
	{"CREDENTIAL_ID", "listKeys", "crd_"},
	{"USER_ID", "listUsers", "usr_"},
	{"PLAN_NAME", "listPlans", "open"},
	{"TASK_ID", "listTasks", "trn_"},
}

// firstSteps returns the commands that set the variables of all other examples. They need curl and grep only.
func (d *document) firstSteps(curl map[string]string) string {
	var b strings.Builder
	b.WriteString("export CARREL_KEY='crl_…'  # your key\n")
	for _, s := range steps {
		b.WriteString("export " + s.variable + "=$(" + curl[s.operation] + " \\\n  | grep -o '" + s.prefix +
			"[0-9a-z]*' | head -n 1)\n")
	}
	return b.String()
}

// variable returns the shell variable of a path parameter: AGENT_ID for agentId.
func variable(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// curl returns the command that calls an operation.
func (d *document) curl(method, path string, op *object, public bool) (string, error) {
	target := path
	for strings.Contains(target, "{") {
		before, rest, _ := strings.Cut(target, "{")
		name, after, _ := strings.Cut(rest, "}")
		target = before + "$" + variable(name) + after
	}
	query := url.Values{}
	var header string
	for _, p := range op.list("parameters") {
		parameter, _ := d.resolve(p.(*object))
		if parameter.text("required") != "true" {
			continue
		}
		switch parameter.text("in") {
		case "query":
			query.Set(parameter.text("name"), parameter.text("example"))
		case "header":
			header += " \\\n  -H '" + parameter.text("name") + ": " + parameter.text("example") + "'"
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	var b strings.Builder
	b.WriteString("curl -sS ")
	if op.object("responses").object("201").object("headers").object("Location") != nil {
		b.WriteString("-i ") // the result is in a header
	}
	sample, err := d.requestSample(op)
	if err != nil {
		return "", err
	}
	// With a body, curl uses POST without -X.
	file := fileSample(op)
	if method != "GET" && (method != "POST" || sample+file == "") {
		b.WriteString("-X " + method + " ")
	}
	b.WriteString(`"` + d.baseURL + target + `"`)
	if !public {
		b.WriteString(" \\\n " + authorization)
	}
	b.WriteString(header + file)
	if sample != "" {
		b.WriteString(" \\\n  -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(sample, "'", `'\''`) + "'")
	}
	return b.String(), nil
}

// fileSample returns the curl options that upload a file, or "". The content is on the command line, so that no file
// has to exist.
func fileSample(op *object) string {
	body := op.object("requestBody")
	content := body.object("content")
	switch {
	case content.object("multipart/form-data") != nil:
		return " \\\n  -F 'file=A note.;filename=note.txt'"
	case content.object("application/x-bibtex") != nil:
		return " \\\n  -H 'Content-Type: application/x-bibtex' \\\n  --data-raw '@article{codd1970, year = 1970}'"
	case content.object("application/offset+octet-stream") != nil && body.text("required") == "true":
		return " \\\n  -H 'Content-Type: application/offset+octet-stream' \\\n  --data-binary 'A note.'"
	}
	return ""
}

// shortBody is the maximum length of a body on one line.
const shortBody = 48

// requestSample returns the body to send, or "" if the operation has none.
func (d *document) requestSample(op *object) (string, error) {
	media := op.object("requestBody").object("content").object("application/json")
	if media == nil {
		return "", nil
	}
	body := d.sample(media.object("schema"), true)
	var line bytes.Buffer
	if err := writeJSON(&line, body); err != nil || line.Len() <= shortBody {
		return line.String(), err
	}
	lines, err := indented(body)
	return string(lines), err
}
