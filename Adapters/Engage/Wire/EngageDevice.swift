import AdapterKit

/// What behaviors report about the device and the application; each value can be replaced.
public struct EngageDevice: Sendable, Hashable {
    /// The placeholder for an application without a name or version.
    public static let unknown = "__UNKNOWN__"

    /// The device family.
    public var name: String
    /// The hardware's identifier.
    public var version: String
    /// The operating system.
    public var osName: String
    /// The operating system's version.
    public var osVersion: String
    /// The application's name.
    public var appName: String
    /// The application's build.
    public var appVersion: String
    /// The device's id.
    ///
    /// `nil` on iOS means `identifierForVendor`; elsewhere, or if iOS has none, it means an id that is generated once
    /// and stored.
    public var id: String?

    /// Creates a description.
    public init(
        name: String,
        version: String,
        osName: String,
        osVersion: String,
        appName: String = unknown,
        appVersion: String = unknown,
        id: String? = nil
    ) {
        self.name = name
        self.version = version
        self.osName = osName
        self.osVersion = osVersion
        self.appName = appName
        self.appVersion = appVersion
        self.id = id
    }

    /// The device of this process, as far as the system describes it without a permission.
    public static let current = EngageDevice(
        name: family,
        version: hardware,
        osName: system,
        osVersion: HostDevice.systemVersion,
        appName: HostDevice.application("CFBundleDisplayName") ?? HostDevice.application("CFBundleName") ?? unknown,
        appVersion: HostDevice.application("CFBundleVersion") ?? unknown
    )

    /// Returns the device with the platform's id for this application's vendor, unless it has one already.
    func identified() async -> EngageDevice {
        var device = self
        if id == nil { device.id = await HostDevice.requestVendorID() }
        return device
    }

    private static var system: String {
        #if os(iOS)
            "iPhone OS"
        #else
            HostDevice.systemName ?? unknown
        #endif
    }

    private static var family: String {
        #if os(iOS)
            hardware.hasPrefix("iPad") ? "iPad" : "iPhone"
        #elseif os(macOS)
            "Mac"
        #else
            system
        #endif
    }

    private static var hardware: String { HostDevice.hardware ?? unknown }
}
