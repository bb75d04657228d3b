package mcp

func documentURI(agentID, documentID string) string {
	return "carrel://agents/" + agentID + "/documents/" + documentID
}
