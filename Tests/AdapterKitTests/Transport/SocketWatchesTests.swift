#if os(Linux)
    import Testing

    @testable import AdapterKit

    @Suite("Watches on sockets")
    struct SocketWatchesTests {
        @Test("a request on a kept connection changes nothing in the poller")
        func kept() {
            var watches = SocketWatches()
            watches.opened(7)
            #expect(watches.want(7, reading: false, writing: true) == .add(reading: false, writing: true))
            #expect(watches.want(7, reading: true, writing: false) == .change(reading: true, writing: false))
            for _ in 0..<3 {
                #expect(watches.end(7) == nil)
                #expect(watches.want(7, reading: true, writing: false) == nil)
            }
        }

        @Test("a kept connection that becomes ready between requests isn't watched until the next request")
        func unwanted() {
            var watches = SocketWatches()
            watches.opened(7)
            _ = watches.want(7, reading: true, writing: false)
            #expect(watches.endIfUnwanted(7) == nil)
            _ = watches.end(7)
            #expect(watches.endIfUnwanted(7) == .remove)
            #expect(watches.want(7, reading: true, writing: false) == .add(reading: true, writing: false))
        }

        @Test("a descriptor that the system reuses is a new socket")
        func reused() {
            var watches = SocketWatches()
            watches.opened(7)
            _ = watches.want(7, reading: true, writing: false)
            _ = watches.end(7)
            #expect(watches.closed(7) == .remove)
            #expect(watches.closed(7) == nil)
            watches.opened(7)
            #expect(watches.want(7, reading: true, writing: false) == .add(reading: true, writing: false))
        }

        @Test("the watch on a socket whose closing nothing announces ends with the request")
        func foreign() {
            var watches = SocketWatches()
            #expect(watches.want(9, reading: true, writing: false) == .add(reading: true, writing: false))
            #expect(watches.end(9) == .remove)
            #expect(watches.end(9) == nil)
            #expect(watches.want(9, reading: true, writing: false) == .add(reading: true, writing: false))
        }

        @Test("a watch that would be ready at once doesn't outlive its request")
        func writing() {
            var watches = SocketWatches()
            watches.opened(7)
            _ = watches.want(7, reading: true, writing: true)
            #expect(watches.end(7) == .remove)
        }

        @Test("sockets are distinguished, and an unknown one has no watch to end")
        func others() {
            var watches = SocketWatches()
            watches.opened(3)
            watches.opened(200)
            _ = watches.want(3, reading: true, writing: false)
            #expect(watches.want(200, reading: true, writing: false) == .add(reading: true, writing: false))
            #expect(watches.end(200) == nil)
            #expect(watches.endIfUnwanted(3) == nil)
            #expect(watches.end(1000) == nil)
            #expect(watches.end(-1) == nil)
        }
    }
#endif
