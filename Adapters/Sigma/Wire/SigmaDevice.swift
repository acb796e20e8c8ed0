import AdapterKit
import Foundation

/// The device's own properties.
///
/// Each value is used for a property that the user doesn't have. `nil` means that the property is missing: an
/// experiment that splits by device then has no id to use.
public struct SigmaDevice: Sendable, Hashable {
    /// The property `deviceId`; `nil` on iOS means `identifierForVendor`.
    public var id: String?
    /// The property `appVersion`.
    public var appVersion: String?
    /// The property `os.name`.
    public var osName: String?
    /// The property `os.version`, as numbers separated by dots.
    public var osVersion: String?
    /// The zone of `time` and `date`.
    public var timeZone: TimeZone

    /// Creates a device.
    public init(
        id: String? = nil,
        appVersion: String? = nil,
        osName: String? = nil,
        osVersion: String? = nil,
        timeZone: TimeZone = .current
    ) {
        self.id = id
        self.appVersion = appVersion
        self.osName = osName
        self.osVersion = osVersion
        self.timeZone = timeZone
    }

    /// The device that this process runs on.
    ///
    /// The version is the main bundle's, which is `nil` for most processes on Linux. On Linux the id is derived from
    /// the machine's, without revealing it; on iOS it is `identifierForVendor`, requested when it is first needed,
    /// since only the main actor may. On macOS there is none.
    public static var current: SigmaDevice {
        SigmaDevice(
            id: machineID(),
            appVersion: Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String,
            osName: HostDevice.systemName ?? "Other",
            osVersion: HostDevice.systemVersion
        )
    }

    private static func machineID() -> String? {
        #if os(Linux)
            guard let text = try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8) else { return nil }
            let id = text.trimmingCharacters(in: .whitespacesAndNewlines)
            return id.isEmpty ? nil : MD5(of: Array("sigma device \(id)".utf8)).hexadecimal
        #else
            nil
        #endif
    }

    /// Returns the device with the platform's id for this application's vendor, unless it has one already.
    func identified() async -> SigmaDevice {
        var device = self
        if id == nil { device.id = await HostDevice.requestVendorID() }
        return device
    }

    /// Formats a date as `yyyy-MM-dd HH:mm:ss` in this device's zone.
    func time(at date: Date) -> String {
        date.formatted(
            Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: timeZone)
                .year().month().day().time(includingFractionalSeconds: false)
        )
    }

    func day(at date: Date) -> String { String(time(at: date).prefix(10)) }
}
