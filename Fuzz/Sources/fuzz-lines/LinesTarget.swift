import AdapterKit
import ComparisonKit
import ConformanceKit
@_spi(StoredForm) import Experimentation
import Foundation

/// Parses a line as `xp track` and `xp evaluate` do: a user, and an event that can be stored if it is valid.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let document = try? JSON.parse(bytes), var reader = try? DocumentReader(document, named: "line 1") else {
        return 0
    }
    guard var nested = try? reader.reader("user"), let user = try? User(reading: &nested) else { return 0 }
    _ = try? nested.finish()
    _ = try? reader.texts("assignments")
    guard reader.has("event") else { return 0 }
    let read = try? TrackingEvent(document: reader.value("event"), named: reader.document, at: "event")
    guard let event = read, event.isStorable else { return 0 }
    let envelope = Envelope(
        id: "1",
        identity: user.identity,
        event: event,
        date: Date(timeIntervalSince1970: 1_795_255_200)
    )
    guard let written = try? envelope.stored() else { return 0 }
    guard (try? Envelope(stored: written)) != nil else { fatalError("an accepted event can't be read again") }
    return 0
}
