import Foundation

extension ConformanceReport {
    /// The operating system and processor of this process.
    public static var thisPlatform: String {
        let version = ProcessInfo.processInfo.operatingSystemVersionString
        return "\(system) \(processor), \(version)"
    }

    private static var system: String {
        #if os(Linux)
            "Linux"
        #elseif os(macOS)
            "macOS"
        #elseif os(iOS)
            "iOS"
        #else
            "another system"
        #endif
    }

    private static var processor: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "arm64"
        #else
            "another processor"
        #endif
    }
}
