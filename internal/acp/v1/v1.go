// Package v1 has the types of version 1 of the Agent Client Protocol (https://agentclientprotocol.com). tools/acptypes/generate
// writes them.
package v1
