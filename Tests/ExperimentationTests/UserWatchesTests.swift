import Experimentation
import Testing

@Suite("Watches on users")
struct UserWatchesTests {
    enum Happening: UInt8 {
        case left = 1
        case renamed = 2
    }

    private let watches = UserWatches<Happening>()

    private func users(_ ids: String...) -> Set<ExactText> { Set(ids.map { ExactText($0) }) }

    @Test("a watch reports what has happened to one of its users since it began")
    func tells() {
        watches.note(.left, of: users("ada"))
        let watch = watches.watch(users("ada", "ben"))
        #expect(!watch.has(.left))
        watches.note(.left, of: users("eve"))
        #expect(!watch.has(.left))
        watches.note(.left, of: users("eve", "ben"))
        #expect(watch.has(.left) && watch.has(.left) && !watch.has(.renamed))
    }

    @Test("a further user is watched from then on")
    func further() {
        let watch = watches.watch([])
        watches.note(.left, of: users("ada"))
        watch.add(users("ada"))
        #expect(!watch.has(.left))
        watches.note(.left, of: users("ada"))
        #expect(watch.has(.left))
    }

    @Test("an event about all users is reported by every watch, except by the one that caused it")
    func all() {
        let (cause, one, none) = (watches.watch("ada"), watches.watch("ada"), watches.watch([]))
        watches.note(.renamed, of: nil, by: cause)
        #expect(!cause.has(.renamed) && one.has(.renamed) && none.has(.renamed))
    }

    @Test("an event is reported once by the watch that takes it")
    func once() {
        let watch = watches.watch("ada")
        for event in [Happening.left, .renamed] { watches.note(event, of: users("ada")) }
        #expect(watch.take(.renamed) && !watch.take(.renamed) && watch.has(.left))
        watches.note(.renamed, of: users("ada"))
        #expect(watch.take(.renamed))
    }

    @Test("two Unicode forms of one text are two users")
    func forms() {
        let watch = watches.watch("\u{E9}")
        watches.note(.left, of: [ExactText("e\u{301}")])
        #expect(!watch.has(.left))
    }

    @Test("work for a user learns that the user was removed meanwhile")
    func removals() async {
        let removals = UserRemovals()
        let isRemoved = await removals.watching("ada") { watch in
            removals.note("ben")
            let before = watch.isRemoved
            removals.note("ada")
            return [before, watch.isRemoved]
        }
        #expect(isRemoved == [false, true])
    }
}
