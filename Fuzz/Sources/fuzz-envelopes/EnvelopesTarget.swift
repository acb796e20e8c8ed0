@_spi(StoredForm) import Experimentation

/// A decoded event survives a round trip.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let envelope = try? Envelope(stored: bytes) else { return 0 }
    guard let written = try? envelope.stored() else { return 0 }
    guard let again = try? Envelope(stored: written), (try? again.stored()) == written else {
        fatalError("an event doesn't survive being written")
    }
    return 0
}
