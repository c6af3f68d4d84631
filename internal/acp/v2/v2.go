// Package v2 has the types of version 2 of the Agent Client Protocol (https://agentclientprotocol.com). tools/acptypes/generate
// writes them.
package v2
