package fileattr

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// ReadIdentity returns a text that names a file or directory, however its path changes, and no later one that gets its
// number: volume, number and time of creation. It is "" if there is no file.
func ReadIdentity(path string) string {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return ""
	}
	// A directory is opened with backup semantics only.
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, 0, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(h)
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &info); err != nil {
		return ""
	}
	return fmt.Sprintf("%x:%x%08x:%x", info.VolumeSerialNumber, info.FileIndexHigh, info.FileIndexLow,
		info.CreationTime.Nanoseconds())
}
