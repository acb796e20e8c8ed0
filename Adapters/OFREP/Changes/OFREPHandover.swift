/// Which open streams stay while others take their place, and whether they still hear everything; pure.
///
/// What changes before all announced streams are open would otherwise be told to nobody. Nobody knows which stream takes
/// the place of which, so the former ones stay together.
struct OFREPHandover: Sendable {
    /// The open streams that are no longer announced.
    private(set) var former: Set<OFREPStream> = []
    /// Whether announced streams are still to take the place of former ones, even if those have ended.
    private(set) var isUnderWay = false
    /// The announced streams that were last all open, unless one of them has ended since.
    private var whole: Set<OFREPStream>?

    /// Returns whether the streams that were last all open hear whatever the announced ones tell, open or not.
    ///
    /// - Parameter count: The number of announced streams; if it has grown, some take nobody's place.
    /// - Returns: Whether nothing is missed.
    func hearsAll(of count: Int) -> Bool { count <= whole?.count ?? 0 }

    /// Keeps open streams that are no longer announced.
    ///
    /// - Parameters:
    ///   - left: The open ones among the streams that were announced until now.
    ///   - announced: The streams that are announced instead.
    /// - Returns: The streams to close.
    mutating func begin(leaving left: Set<OFREPStream>, for announced: [OFREPStream]) -> Set<OFREPStream> {
        let open = former.union(left).subtracting(announced)
        former = open
        if let whole, hearsAll(of: announced.count) {
            former.formIntersection(whole)
        } else if open.count > OFREPStream.most {
            // A server's addresses change so fast that former streams would pile up.
            (former, whole) = (left, nil)
        }
        if !former.isEmpty { isUnderWay = true }
        return open.subtracting(former)
    }

    /// Records that a stream has ended.
    ///
    /// - Returns: Whether it was a former one.
    mutating func noteEnd(of stream: OFREPStream) -> Bool {
        if whole?.contains(stream) ?? false { whole = nil }
        return former.remove(stream) != nil
    }

    /// Records that streams were closed for the background; on return, changes are asked for anyway.
    mutating func rest(_ streams: Set<OFREPStream>) {
        for stream in streams { _ = noteEnd(of: stream) }
        if former.isEmpty { isUnderWay = false }
    }

    /// Records that each announced stream is open or refused: former ones stay only if they alone hear everything.
    ///
    /// - Returns: The streams to close.
    mutating func settle(_ announced: Set<OFREPStream>, areOpen: Bool) -> Set<OFREPStream> {
        isUnderWay = false
        if !areOpen, hearsAll(of: announced.count) { return [] }
        whole = areOpen ? announced : nil
        defer { former = [] }
        return former
    }
}
