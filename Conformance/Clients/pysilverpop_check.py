"""Drives a real third-party client, pysilverpop, against `xp mock engage`.

    python3 pysilverpop_check.py '{"url":"http://127.0.0.1:8080","credentials":{...}}'

The argument is the first line that the mock prints. Ends with status 0 when everything was as the client expects it, and with
status 77 when the client isn't installed.
"""

import json
import os
import sys

# The mock speaks plain HTTP on loopback, which OAuth clients refuse unless told.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

try:
    from silverpop.api import Silverpop, SilverpopResponseException
except ImportError as error:
    print(f"pysilverpop isn't installed: {error}")
    sys.exit(77)

HEAD = json.loads(sys.argv[1])
PORT = HEAD["url"].rsplit(":", 1)[1]
CREDENTIALS = HEAD["credentials"]
LIST = CREDENTIALS["listID"]


class Local(Silverpop):
    """The client with the vendor's addresses replaced, and nothing else."""

    oauth_endpoint = "http://127.0.0.1:%s/oauth/token"
    api_endpoint = "http://127.0.0.1:%s/XMLAPI"


def client(secret=None):
    return Local(CREDENTIALS["clientID"], secret or CREDENTIALS["clientSecret"], CREDENTIALS["refreshToken"], PORT)


def expect(found, wanted, what):
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


def expect_fault(call, part, what):
    try:
        call()
    except SilverpopResponseException as fault:
        if part not in str(fault):
            raise AssertionError(f"{what}: the fault says {fault}")
        return
    raise AssertionError(f"{what}: no fault")


def recipients(api):
    # Added, then updated by the same call, because the client sends <UPDATE_IF_FOUND/> for True.
    added = api.add_recipient(
        LIST, 1, update_if_found=True, sync_fields={"Email": "ann@example.test"},
        columns={"Email": "ann@example.test", "facebook_id": "A&B <1>"},
    )
    expect(added.SUCCESS, "TRUE", "add_recipient")
    again = api.add_recipient(
        LIST, 1, update_if_found=True, sync_fields={"Email": "ann@example.test"},
        columns={"Email": "ann@example.test", "twitter_id": "Zoë 😀"},
    )
    expect(again.RecipientId, added.RecipientId, "the same address twice")

    by_id = api.select_recipient_data(LIST, recipient_id=added.RecipientId)
    expect(by_id.COLUMNS["facebook_id"], "A&B <1>", "a value with markup")
    expect(by_id.COLUMNS["twitter_id"], "Zoë 😀", "a value beyond ASCII")
    by_email = api.select_recipient_data(LIST, email="ann@example.test")
    expect(by_email.RecipientId, added.RecipientId, "selected by address")
    by_columns = api.select_recipient_data(LIST, columns={"facebook_id": "A&B <1>"})
    expect(by_columns.RecipientId, added.RecipientId, "selected by a column")

    api.update_recipient(LIST, recipient_id=added.RecipientId, columns={"Mobile User Id": "M-1"})
    expect(
        api.select_recipient_data(LIST, recipient_id=added.RecipientId).COLUMNS["Mobile User Id"], "M-1", "an update"
    )
    # This call alone writes <SYNC_FIELDS><NAME/><VALUE/></SYNC_FIELDS>, without SYNC_FIELD.
    api.update_recipient(LIST, sync_fields={"Email": "ann@example.test"}, columns={"Mobile User Id": "M-2"})
    expect(
        api.select_recipient_data(LIST, recipient_id=added.RecipientId).COLUMNS["Mobile User Id"], "M-2",
        "an update by sync fields",
    )
    # An unknown old address is added.
    other = api.update_recipient(LIST, old_email="new@example.test", columns={"facebook_id": "2"})
    expect(other.RecipientId != added.RecipientId, True, "an unknown old address")

    api.opt_out_recipient(LIST, email="ann@example.test")
    out = api.select_recipient_data(LIST, recipient_id=added.RecipientId)
    expect(bool(out.OptedOut), True, "opted out")
    api.remove_recipient(LIST, "new@example.test")
    return added.RecipientId


def tables(api):
    rows = [{"Audit Record Id": f"A-{number}", "Create Date": "02/03/2015 18:04:05 GMT"} for number in range(3)]
    expect(api.insert_update_relational_table("29392", rows).SUCCESS.lower(), "true", "three rows")
    bad = api.insert_update_relational_table("29392", [{"Audit Record Id": "A-9", "Create Date": "yesterday"}])
    expect(bad.SUCCESS.lower(), "true", "a row that isn't taken, in a success")
    expect("FAILURE" in bad.response_raw, True, "its failure")


def faults(api):
    expect_fault(lambda: api.select_recipient_data(LIST, email="nobody@example.test"), "not a member", "nobody")
    expect_fault(lambda: api.remove_recipient(LIST, "new@example.test"), "not a member", "removed already")
    expect_fault(lambda: api.add_recipient("1", 1, columns={"Email": "a"}), "1", "an unknown list")
    expect_fault(lambda: api.add_recipient("abc", 1, columns={"Email": "a"}), "", "a list that is no number")
    expect_fault(lambda: api.add_recipient(LIST, 1, columns={"No Such": "a"}), "No Such", "an unknown column")
    expect_fault(lambda: api.send_mailing(7, "ann@example.test"), "", "a mailing that isn't there")


def events(api, recipient):
    # The client has no call for behaviours: its session, with its token, posts them.
    address = HEAD["url"] + "/rest/events/submission"
    event = {
        "eventTypeCode": 17, "eventTimestamp": "2015-02-03T18:04:05.678Z", "contactId": int(recipient),
        "attributes": [{"name": "Event Name", "value": "PLAYER LOADED"}],
    }
    answer = api.session.post(address, json={"events": [event]})
    expect(answer.status_code, 202, "a behaviour")
    refused = api.session.post(address, json={"events": [{"attributes": []}]})
    expect(refused.status_code, 400, "a behaviour without a code")
    listed = api.session.get(HEAD["url"] + "/rest/events/errors", params={"filter": "errorId=0"})
    expect(listed.status_code, 200, "the errors of behaviours")
    taken = api.session.get(HEAD["url"] + "/_mock/behaviors").json()["taken"]
    expect([str(one["recipient"]) for one in taken], [recipient], "whose behaviour it is")


def strangers():
    try:
        client(secret="wrong").select_recipient_data(LIST, recipient_id="1")
    except Exception as error:  # The OAuth library's own kinds differ between its versions.
        expect("invalid_client" in str(error) or "invalid_client" in repr(error), True, f"a wrong secret, {error!r}")
        return
    raise AssertionError("a wrong secret was let in")


api = client()
recipient = recipients(api)
tables(api)
faults(api)
events(api, recipient)
strangers()
print("recipients, tables, faults, events and strangers are as pysilverpop expects them")
