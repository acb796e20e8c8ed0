import Foundation
import Testing

@testable import SigmaAdapter

@Suite("A device's own properties")
struct DeviceTests {
    @Test(
        "the device's time is written in its time zone, whatever the time",
        arguments: [
            (0, "GMT", "1970-01-01 00:00:00"), (-0.5, "GMT", "1969-12-31 23:59:59"),
            (1_795_262_399.9999, "GMT", "2026-11-21 11:59:59"),
            (1_795_262_400, "Asia/Kathmandu", "2026-11-21 17:45:00"),
            (1_795_294_799, "America/St_Johns", "2026-11-21 17:29:59"),
            (253_402_300_799, "GMT", "9999-12-31 23:59:59"),
            (253_402_300_800, "GMT", "10000-01-01 00:00:00"),
        ] as [(Double, String, String)]
    )
    func time(seconds: Double, zone: String, text: String) throws {
        let device = SigmaDevice(timeZone: try #require(TimeZone(identifier: zone)))
        let date = Date(timeIntervalSince1970: seconds)
        #expect(device.time(at: date) == text)
    }

    @Test(
        "a clock that is far out, or no clock at all, doesn't end the process",
        arguments: [1e15, -1e15, 1e19, -1e19, 1e300, .infinity, -.infinity, .nan] as [Double]
    )
    func oddTimes(seconds: Double) {
        let device = SigmaDevice(timeZone: .gmt)
        #expect(!device.time(at: Date(timeIntervalSince1970: seconds)).isEmpty)
    }
}
