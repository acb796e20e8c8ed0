import AdapterKit
import Foundation

/// A parsed wait is within its limits, and a parsed date survives a round trip.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    if let wait = RetryAfter.parse(text, now: Date(timeIntervalSince1970: 784_111_777)) {
        guard wait >= .zero, wait <= RetryAfter.longest else { fatalError("a wait out of bounds") }
    }
    if let date = HTTPDate.parse(text), HTTPDate.parse(HTTPDate.format(date)) != date {
        fatalError("a date doesn't survive being written")
    }
    return 0
}
