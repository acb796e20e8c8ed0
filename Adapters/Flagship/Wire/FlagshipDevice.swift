import AdapterKit
import Experimentation
import Foundation

/// The device's part of every visitor's context.
///
/// ``current`` asks the system; any part can be replaced, so that a server can stand in for its users' devices.
public struct FlagshipDevice: Sendable, Hashable {
    /// The language's code: `fr`.
    public var language: String
    /// `Mobile`, `Tablet`, `TV`, `Desktop` or `Watch`.
    public var type: String
    /// The model, or the machine's architecture if there is no model.
    public var model: String
    /// The operating system's name.
    public var osName: String
    /// The operating system's version.
    public var osVersion: String

    /// Creates a description.
    public init(language: String, type: String, model: String, osName: String, osVersion: String) {
        self.language = language
        self.type = type
        self.model = model
        self.osName = osName
        self.osVersion = osVersion
    }

    /// The device that this runs on.
    public static var current: FlagshipDevice {
        FlagshipDevice(
            language: Locale.current.language.languageCode?.identifier ?? "en",
            type: family,
            model: machine,
            osName: HostDevice.systemName ?? "unknown",
            osVersion: HostDevice.systemVersion
        )
    }

    /// The automatic part of a context, without the values that depend on the visitor or the installation.
    var context: [String: FlagValue] {
        let version = FlagshipWire.sdkVersion
        return [
            FlagshipContextKey.locale.rawValue: .string(language),
            FlagshipContextKey.deviceType.rawValue: .string(type),
            FlagshipContextKey.deviceModel.rawValue: .string(model),
            FlagshipContextKey.osName.rawValue: .string(osName),
            FlagshipContextKey.osVersionName.rawValue: .string(osName),
            FlagshipContextKey.osVersionCode.rawValue: .string(osVersion),
            FlagshipContextKey.flagshipVersion.rawValue: .string(version),
            FlagshipContextKey.client: .string(osName),
            FlagshipContextKey.version: .string(version),
            FlagshipContextKey.allUsers: "",
        ]
    }

    private static var family: String {
        #if os(iOS)
            machine.hasPrefix("iPad") ? "Tablet" : "Mobile"
        #elseif os(tvOS)
            "TV"
        #elseif os(watchOS)
            "Watch"
        #else
            "Desktop"
        #endif
    }

    private static var machine: String { HostDevice.hardware ?? "unknown" }
}
