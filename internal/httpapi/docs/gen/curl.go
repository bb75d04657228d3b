package main

import (
	"net/url"
	"strings"
)

// The examples use shell variables, which the first steps set, so that they can be pasted.
const authorization = ` -H "Authorization: Bearer $CARREL_KEY"`

// curl returns the command that sends the request.
func (c *call) curl(baseURL string) string {
	target := c.path
	for _, name := range c.parameters() {
		target = strings.Replace(target, "{"+name+"}", "$"+variable(name), 1)
	}
	if len(c.query) > 0 {
		query := url.Values{}
		for _, q := range c.query {
			query.Set(q.name, q.value)
		}
		target += "?" + query.Encode()
	}
	var b strings.Builder
	b.WriteString("curl -sS ")
	if c.inHeader {
		b.WriteString("-i ")
	}
	if c.stream {
		b.WriteString("-N ") // shows events as they arrive
	}
	// With a body, curl uses POST without -X.
	if c.method != "GET" && (c.method != "POST" || !c.hasBody()) {
		b.WriteString("-X " + c.method + " ")
	}
	b.WriteString(`"` + baseURL + target + `"`)
	if !c.public {
		b.WriteString(" \\\n " + authorization)
	}
	for _, h := range c.header {
		b.WriteString(" \\\n  -H '" + h.name + ": " + h.value + "'")
	}
	for _, f := range c.form {
		b.WriteString(" \\\n  --data-urlencode " + shellQuoted(f.name+"="+f.value))
	}
	b.WriteString(c.curlBody())
	return b.String()
}

func (c *call) hasBody() bool { return c.body != nil || len(c.form) > 0 || c.upload != noUpload }

// curlBody returns the options that send a JSON body or a file. The content of a file is on the command line, so that
// no file has to exist.
func (c *call) curlBody() string {
	switch c.upload {
	case formUpload:
		return " \\\n  -F 'file=A note.;filename=note.txt'"
	case bibtexFile:
		return " \\\n  -H 'Content-Type: application/x-bibtex' \\\n  --data-raw '@article{codd1970, year = 1970}'"
	case partUpload:
		return " \\\n  -H 'Content-Type: application/offset+octet-stream' \\\n  --data-binary 'A note.'"
	case noUpload:
	}
	if c.body == nil {
		return ""
	}
	return " \\\n  -H 'Content-Type: application/json' \\\n  -d " + shellQuoted(jsonNotation.write(c.body, 0, 6))
}

// shellQuoted quotes a text for the shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// step sets a variable to the first id with this prefix in the reply of an operation.
type step struct {
	variable, operation, prefix string
}

var idSteps = []step{
	{"DOCUMENT_ID", "search", "doc_"},
	{"MESSAGE_ID", "sendMessage", "msg_"},
	{"SOURCE_ID", "createSource", "src_"},
	{"UPLOAD_ID", "createUpload", "upl_"},
	{"FILE_ID", "listFiles", "fil_"},
	{"MEMORY_ID", "addMemory", "mem_"},
	{"SAVED_SEARCH_ID", "saveSearch", "sav_"},
	{"CARD_ID", "saveFavourite", "card_"},
	{"COLLECTION_ID", "createCollection", "col_"},
	{"WEBHOOK_ID", "createWebhook", "whk_"},
	{"LINK_ID", "createThreadLink", "lnk_"},
	{"BIN_ITEM_ID", "listBin", "bin_"},
	{"DELIVERY_ID", "listWebhookDeliveries", "whd_"},
	{"SESSION_ID", "listSessions", "crd_"},
	{"KEY_ID", "createKey", "crd_"},
	{"CODE_ID", "createConnectCode", "crd_"},
	{"CONNECTION_ID", "listConnections", "crd_"},
	{"PASSKEY_ID", "listPasskeys", "crd_"},
	{"CREDENTIAL_ID", "listKeys", "crd_"},
	{"USER_ID", "listUsers", "usr_"},
	{"TASK_ID", "listTasks", "trn_"},
	{"INVITATION_ID", "listAccountInvitations", "inv_"},
}

// moreIDs returns the commands that set the variables that the first steps do not set. They need curl and grep only.
func moreIDs(curl map[string]string) string {
	var b strings.Builder
	b.WriteString("export PLAN_NAME=reader\n")
	for _, s := range idSteps {
		b.WriteString("export " + s.variable + "=" + firstID(curl[s.operation], s.prefix) + "\n")
	}
	return b.String()
}

// firstID returns a substitution of the shell with the first id in the output of a command.
func firstID(command, prefix string) string {
	return "$(" + command + " \\\n  | grep -o '" + prefix + "[0-9a-z]*' | head -n 1)"
}
