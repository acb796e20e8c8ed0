import Foundation

#if canImport(UIKit) && !os(watchOS)
    import UIKit
#endif

/// The system's description of the machine and of this process's application, as far as it needs no permission.
public enum HostDevice {
    /// The operating system's name, such as `iOS` or `Linux`; `nil` for one that isn't known here.
    public static var systemName: String? {
        #if os(iOS)
            "iOS"
        #elseif os(tvOS)
            "tvOS"
        #elseif os(watchOS)
            "watchOS"
        #elseif os(macOS)
            "macOS"
        #elseif os(Linux)
            "Linux"
        #else
            nil
        #endif
    }

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

    /// The platform's id of this device for applications of one vendor, `identifierForVendor` on iOS; `nil` where there
    /// is none.
    @MainActor public static var vendorID: String? {
        #if canImport(UIKit) && !os(watchOS)
            UIDevice.current.identifierForVendor?.uuidString
        #else
            nil
        #endif
    }

    /// Returns ``vendorID`` to a caller on any actor.
    ///
    /// Waits for the main actor only where there is an id, because a server may never run that actor.
    public static func requestVendorID() async -> String? {
        #if canImport(UIKit) && !os(watchOS)
            await vendorID
        #else
            nil
        #endif
    }

    /// Returns a string from the main bundle's information, such as `CFBundleVersion`; `nil` if there is none or it is
    /// empty.
    public static func application(_ key: String) -> String? {
        (Bundle.main.infoDictionary?[key] as? String).flatMap { $0.isEmpty ? nil : $0 }
    }
}
