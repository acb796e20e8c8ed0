import Experimentation

/// An event that is read from the store is written, and read back as the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let envelope = try? EnvelopeCoding.decode(bytes) else { return 0 }
    guard let written = try? EnvelopeCoding.encode(envelope) else { return 0 }
    guard let again = try? EnvelopeCoding.decode(written), (try? EnvelopeCoding.encode(again)) == written else {
        fatalError("an event doesn't survive being written")
    }
    return 0
}
