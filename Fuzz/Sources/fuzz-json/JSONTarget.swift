import AdapterKit
import Experimentation

/// A parsed value survives a round trip; parsing and validating agree.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let value = try? JSON.parse(bytes)
    let isWellFormed = (try? JSON.check(bytes)) != nil
    guard isWellFormed == (value != nil) else { fatalError("parse and check disagree") }
    guard let value else { return 0 }
    guard let written = try? JSON.encode(value), (try? JSON.parse(written)) == value else {
        fatalError("a value doesn't survive being written")
    }
    return 0
}
