"""CSV files: what is wrong is said with the file and the line."""

import re

import pytest

import flitloom as fl

BAD_DELAYS = [
    (b"", "no delay in the file"),
    (b"delay\n", "no delay in the file"),
    (b"delay\n1\n2", "line 3: the line does not end; the file is cut off"),
    (b"1\nnan\n", "line 2: delay is not a whole number from 0"),
    (b"1\n-2\n", "line 2: delay is not a whole number"),
    (b"1\n2.5\n", "line 2: delay is not a whole number"),
    (b"1\n99999999999999999999\n", "line 2: delay is not a whole number"),
    (b"1\n2,3\n", "line 2: 2 values; one delay per line is needed"),
    (b"1\n\xb2\n", "not UTF-8 text"),
    ("1\n²\n".encode(), "line 2: delay is not a whole number"),
    (b'1\n"2\n', "line 2: unexpected end of data"),
]

BAD_MATRICES = [
    (b"", "no square matrix"),
    (b"0,1\n", "1 row of 2 columns; a square matrix is needed"),
    (b"0,1\n1\n", "line 2: 1 value; the first row has 2"),
    (b"0,inf\n1,0\n", "line 1: column 2 is not a whole number"),
    (b"0,1\n1,-1\n", "line 2: column 2 is not a whole number"),
    (b"0,1\n1,0", "line 2: the line does not end; the file is cut off"),
    (b"0,999999999\n1,0\n", "out of range; it must be 0 to 16777216 packets"),
]

BAD_PACKETS = [
    (b"", "the heading must be source,destination,length,start,slice"),
    (b"0,1,8,0\n", "line 1: the heading must be source,destination,length,start,slice"),
    (b"source,destination,length,start\n", "too few entries"),
    (b"source,destination,length,start\n0,1,8\n", "line 2: 3 values; 4 are needed"),
    (b"source,destination,length,start\n0,1,0,0\n", "line 2: length is out of range"),
    (b"source,destination,length,start\n0,1,x,0\n", "line 2: length is not a whole number"),
]


def refused(tmp_path, content, message, build):
    file = tmp_path / "table.csv"
    file.write_bytes(content)
    with pytest.raises(fl.SpecError, match=re.escape(message)):
        build(file)


@pytest.mark.parametrize(("content", "message"), BAD_DELAYS)
def test_bad_delays(tmp_path, content, message):
    refused(tmp_path, content, message, lambda file: fl.Collective("torn", delays=file))


@pytest.mark.parametrize(("content", "message"), BAD_MATRICES)
def test_bad_matrices(tmp_path, content, message):
    refused(tmp_path, content, message, fl.TrafficMatrix)


@pytest.mark.parametrize(("content", "message"), BAD_PACKETS)
def test_bad_packets(tmp_path, content, message):
    refused(tmp_path, content, message, fl.Packets)


def test_a_missing_file():
    with pytest.raises(fl.SpecError, match=r"traffic\.destinations: none.csv: cannot be read: No such file"):
        fl.Collective(destinations="none.csv")


def test_good_files(tmp_path):
    net = fl.Network(fl.Torus(2, 2))
    file = tmp_path / "table.csv"
    file.write_text("# who sends to whom\nnode\n\n1\r\n0\n3\n2\n")
    assert fl.Collective(destinations=file).destinations == (1, 0, 3, 2)
    file.write_text("0,1,0,0\n0,0,0,2\n1,0,0,0\n0,0,0,0\n")
    assert fl.simulate(net, fl.TrafficMatrix(file, length=3)).flits_delivered == 4 * 3
    file.write_text("source,destination,length,start\n0,3,5,2\n")
    result = fl.simulate(net, fl.Packets(file))
    assert result.packets.tail_arrival.item() == 2 + 2 + 5 - 1


def test_a_matrix_goes_round_its_destinations():
    traffic = fl.TrafficMatrix([[1, 0, 2], [1, 1, 0], [0, 0, 0]], length=2, interval=5)
    assert traffic.packet_table().tolist() == [
        [0, 2, 2, 0, 0],
        [0, 0, 2, 5, 0],
        [0, 2, 2, 10, 0],
        [1, 0, 2, 0, 0],
        [1, 1, 2, 5, 0],
    ]
    assert fl.TrafficMatrix([[0, 0], [0, 0]]).packet_table().shape == (0, 5)
