import Foundation

/// The system's description of the machine and of this process's application, as far as it needs no permission.
///
/// Vendors name the same system differently, so its name is the adapter's.
public enum HostDevice {
    /// The operating system's version, three numbers separated by dots.
    public static var systemVersion: String {
        let version = ProcessInfo.processInfo.operatingSystemVersion
        return "\(version.majorVersion).\(version.minorVersion).\(version.patchVersion)"
    }

    /// The hardware's identifier, such as `iPhone17,1` or `x86_64`; `nil` if the system doesn't provide it.
    public static var hardware: String? {
        var names = utsname()
        guard uname(&names) == 0 else { return nil }
        let machine = withUnsafeBytes(of: &names.machine) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        return machine.isEmpty ? nil : machine
    }

    /// Returns a text of the main bundle's information, such as `CFBundleVersion`; `nil` if there is none or it is
    /// empty.
    public static func application(_ key: String) -> String? {
        (Bundle.main.infoDictionary?[key] as? String).flatMap { $0.isEmpty ? nil : $0 }
    }
}
