import AdapterKit
import Experimentation

/// Reads every kind of setting from arbitrary input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard var settings = try? SettingsReader(json: bytes, file: "f", environment: ["A": "b"]) else { return 0 }
    _ = try? settings.string("s")
    _ = try? settings.secret("k")
    _ = try? settings.int("i", default: 1, in: -5...5)
    _ = try? settings.double("d", default: 1)
    _ = try? settings.seconds("t", default: .zero)
    _ = try? settings.bool("b", default: true)
    _ = try? settings.strings("l")
    _ = try? settings.endpoint("e")
    _ = try? settings.section("o") { section throws(ExperimentationError) in try section.optionalEndpoint("e") }
    try? settings.finish()
    return 0
}
