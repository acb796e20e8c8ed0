/// Decides which open streams stay while others replace them, and whether they still hear everything; pure.
///
/// The former streams stay until all announced ones are open, because until then no other stream reports changes. They
/// stay together, because it isn't known which stream replaces which.
struct OFREPHandover: Sendable {
    /// How long to wait for all announced streams before asking for what the opened ones missed.
    private static let patience = Duration.seconds(30)

    /// The open streams that are no longer announced.
    private(set) var former: Set<OFREPStream> = []
    /// Until when nothing is asked for because announced streams have yet to replace former ones, even if the former
    /// ones have ended.
    private var deadline: ContinuousClock.Instant?
    /// Whether an announced stream has opened since changes were last asked for.
    private var hasOpened = false
    /// The announced streams as of the last time that all of them were open, unless one of them has ended since.
    private var whole: Set<OFREPStream>?

    /// Whether announced streams have yet to replace former ones.
    var isUnderWay: Bool { deadline != nil }
    /// When to ask for what the opened streams missed, although others haven't opened.
    var due: ContinuousClock.Instant? { hasOpened ? deadline : nil }

    /// Returns whether the streams that were last all open hear everything that the announced ones report, open or not.
    ///
    /// - Parameter count: The number of announced streams; if it has grown, some of them don't replace another.
    /// - Returns: Whether nothing is missed.
    func hearsAll(of count: Int) -> Bool { count <= whole?.count ?? 0 }

    /// Keeps open streams that are no longer announced.
    ///
    /// - Parameters:
    ///   - left: The streams that were announced until now, and no longer are.
    ///   - announced: The streams that are announced instead.
    ///   - opensNew: Whether one of those is yet to open.
    ///   - now: The current instant.
    /// - Returns: The streams to close.
    mutating func begin(
        leaving left: [OFREPStream: OFREPConnection],
        for announced: [OFREPStream],
        opensNew: Bool,
        at now: ContinuousClock.Instant
    ) -> Set<OFREPStream> {
        let hearing = Set(left.filter(\.value.isOpen).keys)
        let open = former.union(hearing).subtracting(announced)
        former = open
        if let whole, hearsAll(of: announced.count) {
            former.formIntersection(whole)
        } else if open.count > OFREPStream.most {
            // The server's addresses change so fast that former streams would pile up.
            (former, whole) = (hearing, nil)
        }
        // A server may close a stream before it names the next one.
        let haveEnded = left.values.contains { $0.wasOpen && !$0.isClosed }
        if !former.isEmpty || (haveEnded && opensNew) { deadline = deadline ?? now.advanced(by: Self.patience) }
        return open.subtracting(former)
    }

    /// Records that an announced stream has opened.
    ///
    /// - Returns: Whether to ask for what it missed together with what other streams missed.
    mutating func noteOpening() -> Bool {
        hasOpened = isUnderWay
        return isUnderWay
    }

    /// Returns, once, whether to ask for what the opened streams missed, although others haven't opened.
    mutating func takeOpenings(at now: ContinuousClock.Instant) -> Bool {
        guard let due, due <= now else { return false }
        hasOpened = false
        return true
    }

    /// Records that a stream has ended.
    ///
    /// - Returns: Whether it was a former one.
    mutating func noteEnd(of stream: OFREPStream) -> Bool {
        if whole?.contains(stream) ?? false { whole = nil }
        return former.remove(stream) != nil
    }

    /// Records that streams were closed for the background; on return, changes are asked for in any case.
    mutating func rest(_ streams: Set<OFREPStream>) {
        for stream in streams { _ = noteEnd(of: stream) }
        if former.isEmpty { end() }
    }

    private mutating func end() { (deadline, hasOpened) = (nil, false) }

    /// Records that each announced stream is open or refused: former ones stay only if they alone hear everything.
    ///
    /// - Returns: The streams to close.
    mutating func settle(_ announced: Set<OFREPStream>, areOpen: Bool) -> Set<OFREPStream> {
        end()
        if !areOpen, hearsAll(of: announced.count) { return [] }
        whole = areOpen ? announced : nil
        defer { former = [] }
        return former
    }
}
